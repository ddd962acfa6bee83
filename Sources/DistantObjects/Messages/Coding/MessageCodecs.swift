import KeyedArchive
import Synchronization

/// The readers of one message's arguments and the writer of its result, made at the first call.
///
/// A process uses few of the messages that its classes list, and making a codec costs searches of conformances.
// What `made` points to does not change once it is stored.
final class MessageCodecs: @unchecked Sendable {
    typealias Coder = Unmanaged<AnyValueCoder>

    let argumentCount: Int
    /// The readers, then the writer if there is a result.
    private let made = Atomic<UnsafeMutablePointer<Coder>?>(nil)
    private let make: @Sendable () -> [Coder]

    /// The codecs of a message without a result.
    init<each Argument: Decodable & SendableMetatype>(_ types: repeat (each Argument).Type) {
        argumentCount = Self.count(repeat each types)
        make = { Self.readers(repeat (each Argument).self) }
    }

    /// The codecs of a message with a result.
    init<each Argument: Decodable & SendableMetatype, Result: SendableMetatype>(
        _ types: repeat (each Argument).Type, result: Result.Type
    ) {
        argumentCount = Self.count(repeat each types)
        make = { Self.readers(repeat (each Argument).self) + [ValueCodec.of(Result.self).anyWriter] }
    }

    deinit { made.load(ordering: .acquiring)?.deallocate() }

    /// The reader of an argument.
    @inline(__always)
    func reader(_ position: Int) -> Coder { coders[position] }

    /// The writer of the result.
    ///
    /// Only for a message that has one.
    var writer: Coder {
        @inline(__always) get { coders[argumentCount] }
    }

    private var coders: UnsafeMutablePointer<Coder> {
        @inline(__always) get { made.load(ordering: .acquiring) ?? makeAll() }
    }

    /// Two threads may both make them; the first ones are kept.
    @inline(never)
    private func makeAll() -> UnsafeMutablePointer<Coder> {
        let all = make()
        let pointer = UnsafeMutablePointer<Coder>.allocate(capacity: max(1, all.count))
        for (position, coder) in all.enumerated() { (pointer + position).initialize(to: coder) }
        let (isFirst, first) = made.compareExchange(expected: nil, desired: pointer, ordering: .acquiringAndReleasing)
        guard !isFirst, let first else { return pointer }
        pointer.deallocate()
        return first
    }

    private static func count<each Argument>(_ types: repeat (each Argument).Type) -> Int {
        var count = 0
        for _ in repeat each types { count += 1 }
        return count
    }

    private static func readers<each Argument: Decodable>(_ types: repeat (each Argument).Type) -> [Coder] {
        var list: [Coder] = []
        for type in repeat each types { list.append(ValueCodec.of(type).anyReader) }
        return list
    }
}
