@testable import DistantObjects

/// The content of an input: the options of the run, and the peer's stream.
struct Plan {
    var isInitiator: Bool
    /// Bytes arrive split and merged at random.
    var isSplit: Bool
    var queue: Int
    /// Whether time passes before the stream ends.
    var waits: Bool
    /// Whether this side closes, or cuts, the connection in the middle.
    var closes: Bool
    var cuts: Bool
    /// Whether the run uses a socketpair and a real loop, where memory can be shared.
    var isOverSocket: Bool
    var pieces: [Piece]

    /// Bytes that arrive together.
    struct Piece {
        var bytes: [UInt8]
        /// Set if the piece is a `Share` frame.
        var share: Share?
    }

    /// What accompanies a `Share` frame.
    struct Share {
        var gift: Gift
        /// How many more descriptors the frame announces than arrive.
        var surplus: Int
        /// Whether the peer first waits for output of the connection.
        var waits: Bool
    }

    private enum Form {
        /// The raw input.
        case raw
        /// A correct greeting, then the raw input.
        case greeted
        /// A correct greeting, then frames with correct lengths.
        case framed
    }

    init(_ input: UnsafeRawBufferPointer) {
        let (first, second, third) = (input[0], input[1], input[2])
        isInitiator = first & 1 != 0
        isSplit = first & 8 != 0
        isOverSocket = first & 64 != 0
        queue = first & 16 != 0 ? 1 : 64
        waits = first & 32 != 0
        closes = second & 3 == 1
        cuts = second & 3 == 2
        let rest = input[3...]
        let form: Form = first & 6 == 0 ? .raw : first & 6 == 2 ? .greeted : .framed
        let features = UInt64(second >> 2) | UInt64(third) << 6
        let hello = Piece(bytes: Self.frame(1, 0, Self.hello(features: features)))
        pieces = form == .raw ? [] : [hello]
        guard form == .framed else {
            pieces.append(Piece(bytes: Array(rest)))
            return
        }
        var reader = rest[...]
        while let header = reader.popFirst(6) {
            let length = Int(header[2]) | Int(header[3]) << 8
            let body = reader.popFirst(min(length, reader.count)) ?? []
            pieces.append(
                Piece(
                    bytes: Self.frame(header[0], header[1], Self.body(header, body)),
                    share: header[0] == 17 ? Share(header[4], header[5]) : nil))
        }
    }

    /// Six bytes describe a frame: kind, flags, length (2), and two more.
    ///
    /// The last two are the content length of an opener, the opener's number of a continuation, or what accompanies a
    /// `Share`.
    private static func body(_ header: [UInt8], _ body: [UInt8]) -> [UInt8] {
        guard header[0] == 0xFF || header[1] & 0x80 != 0 else { return body }
        return [header[4], header[5], 0, 0, 0, 0, 0, 0] + body
    }

    static func frame(_ kind: UInt8, _ flags: UInt8, _ body: [UInt8]) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: body.count >> (8 * $0)) } + [kind, flags, 0, 0] + body
    }

    /// All features but the bit of the initiator.
    static let features = Features.all.rawValue

    /// A greeting that accepts messages of up to a mebibyte, and 200 calls.
    static func hello(features: UInt64) -> [UInt8] {
        var bytes: [UInt8] = [0x44, 0x4F, 0x42, 0x4A, 1]
        var rest = features
        while rest >= 128 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        return bytes + [UInt8(rest), 0xC8, 1, 0xC8, 1, 0x80, 0x80, 0x40, 1, 0x78]
    }

    /// The first bytes of an input, which are the options of the run.
    ///
    /// - Parameter second: The lowest two bits of the second byte; the others hold features.
    static func options(_ first: UInt8, _ second: UInt8 = 0, features: UInt64) -> [UInt8] {
        [first, second | UInt8(features & 63) << 2, UInt8(features >> 6)]
    }

    /// The input that produces these frames.
    static func input(
        frames: [(kind: UInt8, flags: UInt8, body: [UInt8])], isInitiator: Bool, second: UInt8 = 0
    ) -> [UInt8] {
        // With all features, of which a recorded conversation uses most.
        var bytes = options(isInitiator ? 5 : 4, second, features: features)
        for frame in frames {
            var body = frame.body
            var extra: [UInt8] = [0, 0]
            if frame.kind == 0xFF || frame.flags & 0x80 != 0, body.count >= 8 {
                extra = Array(body[..<2])
                body.removeFirst(8)
            }
            bytes += [frame.kind, frame.flags, UInt8(body.count & 0xFF), UInt8(body.count >> 8 & 0xFF)] + extra + body
        }
        return bytes
    }
}

extension Plan.Share {
    init(_ first: UInt8, _ second: UInt8) {
        gift = Gift(first)
        surplus = second & 6 == 0 ? 0 : Int(second >> 3 & 3) - 1
        waits = second & 1 == 0
    }
}

extension Slice where Base == UnsafeRawBufferPointer {
    mutating func popFirst(_ count: Int) -> [UInt8]? {
        guard self.count >= count else { return nil }
        defer { self = self[(startIndex + count)...] }
        return Array(self.prefix(count))
    }
}
