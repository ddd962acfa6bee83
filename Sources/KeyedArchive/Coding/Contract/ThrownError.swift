/// An error of a type's own code on its way outwards through the code of other types, and where it was thrown.
struct ThrownError {
    private let error: any Error
    let steps: [ArchiveError.Step]

    init(_ error: any Error, _ steps: [ArchiveError.Step]) {
        self.error = error
        self.steps = steps
    }

    /// Whether it is this error that travels on, and not another one like it.
    func isSame(as other: any Error) -> Bool { Self.box(error) == Self.box(other) }

    /// Where an error is: an existential of an error is a pointer to it, which stays the same while it is thrown on.
    private static func box(_ error: any Error) -> UnsafeRawPointer {
        // `as` keeps the compiler from passing the content of the existential.
        unsafeBitCast(error as any Error, to: UnsafeRawPointer.self)
    }
}
