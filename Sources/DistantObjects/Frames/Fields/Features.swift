/// The features that a side offers in its `Hello`.
///
/// A feature is used if both sides offer it.
package struct Features: OptionSet, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The side sends its `Hello` first.
    package static let initiator = Features(rawValue: 1)
    /// Shared memory.
    package static let sharedMemory = Features(rawValue: 2)
    /// A separate credit for one-way messages.
    package static let oneWayCredit = Features(rawValue: 4)
    /// A `Share` frame that declines the memory that the other side has made.
    package static let decline = Features(rawValue: 8)
    /// Classes of references.
    package static let classes = Features(rawValue: 16)
    /// Messages to answers that are not known yet.
    package static let promises = Features(rawValue: 32)
    package static let streams = Features(rawValue: 64)
    /// Metadata of messages.
    package static let metadata = Features(rawValue: 128)
    /// In shared memory, the processor that a side runs on.
    package static let processor = Features(rawValue: 256)
    /// Byte values in regions of their own.
    package static let blobs = Features(rawValue: 512)

    /// Regions for byte values of more than 64 MiB.
    package static let largeBlobs = Features(rawValue: 1_024)

    /// What needs shared memory.
    static let ofSharedMemory: Features = [.sharedMemory, .decline, .processor, .blobs, .largeBlobs]
    /// What this library knows, without the bit of the initiator.
    package static let all: Features = [ofSharedMemory, .oneWayCredit, .classes, .promises, .streams, .metadata]
}
