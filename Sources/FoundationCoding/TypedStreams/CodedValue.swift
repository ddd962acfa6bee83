public import Foundation
import KeyedArchive

/// A value of a typedstream, as its type string says, where several are decoded or encoded at a time.
///
/// ```swift
/// archiver.encodeValues("iI@", [1, 3, .object("text")])
/// ```
public enum CodedValue {
    /// An integer of any width, `c C s S i I l L q` or `Q`.
    case integer(Int64)
    /// An integer of `Q` above `Int64.max`.
    case unsigned(UInt64)
    /// A Boolean, `B`.
    case bool(Bool)
    /// A real, `f`.
    case float(Float)
    /// A real, `d`.
    case double(Double)
    /// An object, `@`.
    case object(Any?)
    /// A class, `#`.
    case type(AnyClass?)
    /// A C string (`*`), a selector (`:`) or an atom (`%`).
    case string(String?)
    /// The bytes of a string, `+`, or of an array of `c` or `C`.
    case bytes(Data?)
    /// The elements of an array, or the fields of a structure.
    case list([CodedValue])
    /// A value that takes no bytes in the archive: of `!`, or an array of such values.
    case nothing
}

extension CodedValue {
    /// The integer, if it is one that fits an `Int`; 0 or 1 for a Boolean.
    public var intValue: Int? {
        switch self {
        case .integer(let value): Int(value)
        case .bool(let value): value ? 1 : 0
        default: nil
        }
    }

    /// The number as a real, if it is one.
    public var realValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .float(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The object; nil for nil and for other values.
    public var objectValue: Any? { if case .object(let object) = self { object } else { nil } }

    /// The string, selector or atom; nil for none and for other values.
    public var stringValue: String? { if case .string(let text) = self { text } else { nil } }

    /// The bytes; nil for none and for other values.
    public var bytesValue: Data? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// The elements or fields; nil for other values.
    public var listValue: [CodedValue]? { if case .list(let values) = self { values } else { nil } }
}

extension CodedValue: ExpressibleByIntegerLiteral {
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

/// A C structure or array of a type that Foundation has no `NSValue` for on Linux: its values instead of its memory.
///
/// It takes the place of the `NSValue` of a typedstream, and is written as one.
public final class CodedStructure: NSObject {
    /// The type string: `{?=iff}`.
    public let type: String
    /// The value, usually a list of fields.
    public let value: CodedValue

    /// Makes a value of a type.
    ///
    /// - Parameters:
    ///   - type: The type string.
    ///   - value: The value, which has to have that type when it is archived.
    public init(type: String, value: CodedValue) {
        self.type = type
        self.value = value
    }
}

extension NSCodingTypedStreamUnarchiver {
    /// Decodes the next value as one of a type.
    func codedValue(_ type: TypeEncoding) throws -> CodedValue {
        try expect(type, type.fullText)
        let value = try content(type)
        endValue()
        return value
    }

    private func content(_ type: TypeEncoding) throws -> CodedValue {
        switch type {
        case .structure(_, let fields):
            _ = try value()
            let values = try fields.map { try content($0) }
            _ = try value()
            return .list(values)
        case .array(let count, let element):
            switch try value() {
            case .bytes(let bytes, _): return .bytes(bytes.data)
            // There may be billions of elements without bytes.
            case .emptyArray: return count == 0 ? .list([]) : .nothing
            default:
                let values = try (0..<count).map { _ in try content(element) }
                _ = try value()
                return .list(values)
            }
        case .scalar(let code): return try scalar(code, try value())
        }
    }

    private func scalar(_ code: UInt8, _ value: TypedStreamValue) throws -> CodedValue {
        switch value {
        case .integer(let value): .integer(value)
        case .unsigned(let value): .unsigned(value)
        case .bool(let value): .bool(value)
        case .float(let bits):
            code == UInt8(ascii: "d") ? .double(Double(Float(bitPattern: bits))) : .float(Float(bitPattern: bits))
        case .double(let bits): .double(Double(bitPattern: bits))
        case .selector(let text), .atom(let text): .string(text?.description)
        case .text(let text): .bytes(text.data)
        case .nothing: .nothing
        default:
            switch Character(UnicodeScalar(code)) {
            case "@": .object(try object(value, of: nil))
            case "#": .type(try type(value))
            case "+": .bytes(nil)
            default: .string(cString(value)?.description)
            }
        }
    }

    /// The text of a value of `*`.
    func cString(_ value: TypedStreamValue) -> ArchivedText? {
        guard case .label(let label) = value, case .cString(let text) = graph.labels[label] else { return nil }
        return text
    }
}

extension TypeEncoding {
    /// Whether its values take no bytes in a typedstream.
    var isNothing: Bool {
        switch self {
        case .scalar(let code): code == UInt8(ascii: "!")
        case .array(let count, let element): count == 0 || element.isNothing
        case .structure(_, let fields): fields.allSatisfy(\.isNothing)
        }
    }

    /// The type string as typedstreams have it, with the names of structures.
    var fullText: String {
        switch self {
        case .scalar(let code): String(UnicodeScalar(code))
        case .array(let count, let element): "[\(count)\(element.fullText)]"
        case .structure(let name, let fields):
            "{\(name.map { "\($0)=" } ?? "")\(fields.map(\.fullText).joined())}"
        }
    }
}
