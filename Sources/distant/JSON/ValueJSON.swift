import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes values as JSON; references stay references.
///
/// Values that a property list shares are written out at each place. Nesting is not bounded, so open containers are
/// kept in an array rather than on the stack.
struct ValueJSON {
    private let shared: ArchivedSharedValues
    private let output: ByteOutput
    private var open: [Frame] = []
    private var text: [UInt8] = []

    /// A list or dictionary that is not yet closed.
    private struct Frame {
        var content: Content
        var next = 0
        let closing: StaticString
    }

    private enum Content {
        case list([ArchivedValue])
        case pairs([ArchivedValue.Pair])
        case fields([(key: String, value: ArchivedValue)])
    }

    init(shared: ArchivedSharedValues, output: ByteOutput) {
        self.shared = shared
        self.output = output
    }

    func string(_ text: String) {
        var bytes: [UInt8] = []
        JSONText.append(text, to: &bytes)
        output.append(bytes)
    }

    func strings(_ texts: [String]) {
        var bytes: [UInt8] = []
        JSONText.append(texts, to: &bytes)
        output.append(bytes)
    }

    /// The keys and values of a record, sorted, without the brackets around them.
    mutating func fields(of record: ArchivedRecord) throws {
        open.append(Frame(content: .fields(Self.sorted(record)), closing: ""))
        try finish()
    }

    mutating func value(_ value: ArchivedValue) throws {
        begin(value)
        try finish()
    }

    /// Continues until no container is open.
    private mutating func finish() throws {
        while let last = open.indices.last {
            try output.check()
            let next = open[last].next
            open[last].next += 1
            switch open[last].content {
            case .list(let values):
                guard next < values.count else { close(); continue }
                if next > 0 { output.append(",") }
                begin(values[next])
            case .pairs(let pairs):
                guard next < 2 * pairs.count else { close(); continue }
                guard next % 2 == 0 else { output.append("]"); continue }
                output.append(next > 0 ? ",[" : "[")
                key(pairs[next / 2].key)
                output.append(",")
                begin(pairs[next / 2].value)
            case .fields(let fields):
                guard next < 2 * fields.count else { close(); continue }
                guard next % 2 == 0 else { output.append("]"); continue }
                output.append(next > 0 ? ",[" : "[")
                string(fields[next / 2].key)
                output.append(",")
                begin(fields[next / 2].value)
            }
        }
    }

    private mutating func close() {
        if let frame = open.popLast() { output.append(frame.closing) }
    }

    /// Writes a value, or the beginning of a container.
    private mutating func begin(_ value: ArchivedValue) {
        switch value {
        case .list(let values): push("{\"array\":[", .list(values), "]}")
        case .set(let values): push("{\"set\":[", .list(values), "]}")
        case .map(let pairs): push("{\"dict\":[", .pairs(Self.sorted(pairs)), "]}")
        case .present(let value): push("{\"some\":", .list([value]), "}")
        case .record(let record):
            output.append("{\"type\":")
            string(record.typeName)
            push(",\"keys\":[", .fields(Self.sorted(record)), "]}")
        case .shared(let index): begin(shared.lent(index))
        case .data(let data):
            output.append("{\"data\":\"")
            hex(data)
            output.append("\"}")
        case .scalars(let scalars):
            output.append("{\"scalars\":")
            string(scalars.typeName)
            output.append(",\"data\":\"")
            hex(scalars.bytes)
            output.append("\"}")
        default:
            text.removeAll(keepingCapacity: true)
            LeafJSON.append(value, to: &text)
            output.append(text)
        }
    }

    /// Writes bytes in hexadecimal, piece by piece: the whole text would take twice the memory of the bytes.
    private mutating func hex(_ data: Data) {
        let digits = JSONText.digits
        data.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: Self.piece) {
                text.removeAll(keepingCapacity: true)
                for index in start..<min(start + Self.piece, bytes.count) {
                    text.append(digits[Int(bytes[index] >> 4)])
                    text.append(digits[Int(bytes[index] & 0xF)])
                }
                output.append(text)
            }
        }
    }

    private static let piece = 1 << 14

    private mutating func push(_ opening: StaticString, _ content: Content, _ closing: StaticString) {
        output.append(opening)
        open.append(Frame(content: content, closing: closing))
    }

    /// Writes a dictionary key: as text, or as a value if only the compact format has its kind.
    private mutating func key(_ key: ArchivedValue) {
        text.removeAll(keepingCapacity: true)
        Self.append(key: key, to: &text)
        output.append(text)
    }

    private static func append(key: ArchivedValue, to text: inout [UInt8]) {
        switch key {
        case .string(let name): JSONText.append(name, to: &text)
        case .brokenString(let units): JSONText.append(broken: units, to: &text)
        default: LeafJSON.append(key, to: &text)
        }
    }

    // MARK: Order

    private static func sorted(_ record: ArchivedRecord) -> [(key: String, value: ArchivedValue)] {
        let keys = record.keys
        // An object that is a single value has no keys.
        guard keys.count == record.values.count else { return record.values.map { ("", $0) } }
        return JSONText.order(keys).map { (keys[$0], record.values[$0]) }
    }

    private static func sorted(_ pairs: [ArchivedValue.Pair]) -> [ArchivedValue.Pair] {
        JSONText.order(pairs.map { sortKey($0.key) }).map { pairs[$0] }
    }

    private static func sortKey(_ key: ArchivedValue) -> String {
        switch key {
        case .string(let name): return name
        case .brokenString(let units): return String(decoding: units, as: UTF16.self)
        default:
            var text: [UInt8] = []
            LeafJSON.append(key, to: &text)
            return String(decoding: text, as: UTF8.self)
        }
    }
}
