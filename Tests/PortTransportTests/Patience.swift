/// How long a test waits for what is sure to come: it ends a hang, and says nothing about how fast anything is.
///
/// Generous on purpose. All tests begin at once and share what processors there are, perhaps with other programs and
/// under a sanitizer.
enum Patience {
    /// For one condition, one read, one handshake or one orderly close.
    static let wait = Duration.seconds(600)
    /// For a whole test.
    static let test = Duration.seconds(1_200)
}
