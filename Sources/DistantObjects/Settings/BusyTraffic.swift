/// The traffic at which a connection switches to shared memory: this many messages from the peer within this many nanoseconds.
package struct BusyTraffic: Sendable, Equatable {
    /// A power of two.
    package var messages: UInt64 = 256
    package var nanoseconds: UInt64 = 50_000_000

    package init() {}
}
