/// A type string in the file: the encodings of a group's values, one behind the other.
struct TypedStreamType: BitwiseCopyable {
    let start: Int
    let end: Int
    /// The number of the shared string; -1 if the reader does not count them.
    let number: Int
    /// Whether it stands here in full.
    let isNew: Bool

    /// The most digits of the count of an array, which is then below 10^18.
    private static let mostDigits = 18

    /// The name of a structure whose fields begin there, if it has one.
    ///
    /// - Returns: The name, and where the fields begin. `{?=ii}` has the name “?”, `{ii}` has none.
    static func structure(_ source: TypedStreamSource, at start: Int, end: Int) -> (name: Range<Int>?, fields: Int) {
        var at = start
        while at < end {
            switch source.byte(at: at) {
            case UInt8(ascii: "="): return (start..<at, at + 1)
            case UInt8(ascii: "{"), UInt8(ascii: "}"): return (nil, start)
            default: at += 1
            }
        }
        return (nil, start)
    }

    /// The count of an array, whose digits begin there, and where its element begins.
    static func arrayCount(
        _ source: TypedStreamSource, at start: Int, end: Int
    ) throws -> (count: Int, element: Int) {
        var at = start
        var count = 0
        while at < end, case let digit = source.byte(at: at), (0x30...0x39).contains(digit) {
            guard at - start < mostDigits else { throw ArchiveError(.corrupt, "an array has too many elements") }
            count = count * 10 + Int(digit & 0xF)
            at += 1
        }
        guard at > start else { throw ArchiveError(.corrupt, "expected the count of an array in the type string") }
        return (count, at)
    }

    static func isLeaf(_ encoding: UInt8) -> Bool {
        switch encoding {
        case UInt8(ascii: "c"), UInt8(ascii: "C"), UInt8(ascii: "B"), UInt8(ascii: "s"), UInt8(ascii: "S"),
            UInt8(ascii: "i"), UInt8(ascii: "I"), UInt8(ascii: "l"), UInt8(ascii: "L"), UInt8(ascii: "q"),
            UInt8(ascii: "Q"), UInt8(ascii: "f"), UInt8(ascii: "d"), UInt8(ascii: "@"), UInt8(ascii: "#"),
            UInt8(ascii: "*"), UInt8(ascii: "%"), UInt8(ascii: ":"), UInt8(ascii: "+"), UInt8(ascii: "!"):
            true
        default: false
        }
    }

    /// A scan of encodings that finds where they end and how many bytes their values take at least.
    ///
    /// Each value but `!` takes a byte or more; a structure takes what its fields take.
    struct Scan {
        private let source: TypedStreamSource
        private let end: Int
        /// The place of the next encoding.
        private(set) var at: Int
        private var least = 0
        /// For each open structure false, for each open array true.
        private var brackets: [Bool] = []
        private var arrays: [OpenArray] = []
        /// The arrays in the order in which they begin, if asked for.
        private(set) var elements: [Element] = []
        private let keepsElements: Bool

        /// Where the encoding of an array's element begins and ends.
        struct Element: BitwiseCopyable {
            let start: UInt32
            var end: UInt32
        }

        /// An array whose element is being scanned.
        private struct OpenArray {
            let count: UInt32
            /// The bytes in front of it, within the array or group that contains it.
            let before: UInt32
            /// Its number among the arrays.
            let number: UInt32
        }

        init(_ source: TypedStreamSource, from start: Int, to end: Int, keepsElements: Bool = false) {
            self.keepsElements = keepsElements
            self.source = source
            at = start
            self.end = end
        }

        /// Scans the whole type string.
        mutating func group() throws -> Int {
            while at < end { try step() }
            guard brackets.isEmpty else {
                let bracket = brackets.contains(true) ? "[" : "{"
                throw ArchiveError(.corrupt, "a “\(bracket)” of the type string is not closed")
            }
            return least
        }

        /// Scans one encoding.
        ///
        /// - Returns: Where it ends, and the bytes its value takes at least.
        mutating func encoding() throws -> (end: Int, least: Int) {
            repeat {
                guard at < end else { throw ArchiveError(.corrupt, "expected an encoding in the type string") }
                try step()
            } while !brackets.isEmpty
            return (at, least)
        }

        private mutating func step() throws {
            let encoding = source.byte(at: at)
            switch encoding {
            case UInt8(ascii: "{"):
                brackets.append(false)
                at = structure(source, at: at + 1, end: end).fields
            case UInt8(ascii: "}"):
                guard brackets.popLast() == false else { throw unexpected("}") }
                at += 1
                try finishEncoding()
            case UInt8(ascii: "["):
                let (count, element) = try arrayCount(source, at: at + 1, end: end)
                guard element < end, source.byte(at: element) != UInt8(ascii: "]") else {
                    throw ArchiveError(.corrupt, "an array without the encoding of its elements in the type string")
                }
                brackets.append(true)
                arrays.append(
                    OpenArray(
                        count: UInt32(min(count, TypedStreamIndex.most)), before: UInt32(least),
                        number: UInt32(elements.count)))
                if keepsElements { elements.append(Element(start: UInt32(element), end: 0)) }
                least = 0
                at = element
            case UInt8(ascii: "]"): throw unexpected("]")
            case _ where isLeaf(encoding):
                if encoding != UInt8(ascii: "!") { add(1) }
                at += 1
                try finishEncoding()
            default: throw ArchiveError(.unsupported, Self.refusal(encoding))
            }
        }

        /// Closes the arrays whose element has just ended.
        private mutating func finishEncoding() throws {
            while brackets.last == true {
                guard at < end, source.byte(at: at) == UInt8(ascii: "]") else {
                    throw ArchiveError(.corrupt, "expected “]” behind an array's element in the type string")
                }
                brackets.removeLast()
                let array = arrays.removeLast()
                // Both are below 2^32, so the product may only lose its sign.
                let product = UInt(least) * UInt(array.count)
                least = Int(array.before)
                if keepsElements { elements[Int(array.number)].end = UInt32(at) }
                add(Int(min(product, UInt(TypedStreamIndex.most))))
                at += 1
            }
        }

        /// The sum stays below the number of bytes in any file, plus one file.
        private mutating func add(_ more: Int) {
            least = min(least + min(more, TypedStreamIndex.most), TypedStreamIndex.most)
        }

        private func unexpected(_ bracket: String) -> ArchiveError {
            ArchiveError(.corrupt, "an unexpected “\(bracket)” in the type string")
        }

        private static func refusal(_ encoding: UInt8) -> String {
            let name =
                switch encoding {
                case UInt8(ascii: "("): "a union"
                case UInt8(ascii: "^"): "a pointer"
                case UInt8(ascii: "b"): "a bit-field"
                case UInt8(ascii: "?"): "an unknown type"
                case UInt8(ascii: "r"), UInt8(ascii: "n"), UInt8(ascii: "N"), UInt8(ascii: "o"), UInt8(ascii: "O"),
                    UInt8(ascii: "R"), UInt8(ascii: "V"):
                    "a qualifier"
                default: ""
                }
            let isPrintable = (0x21..<0x7F).contains(encoding)
            let character =
                isPrintable ? "“\(Character(Unicode.Scalar(encoding)))”" : "the byte 0x\(String(encoding, radix: 16))"
            return "expected an encoding of a typedstream in the type string, found \(character)"
                + (name.isEmpty ? "" : ", \(name)")
        }
    }
}
