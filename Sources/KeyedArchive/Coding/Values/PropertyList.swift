#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A tree of plain values of mixed types: what property lists hold.
public indirect enum PropertyList: Codable, Hashable, Sendable {
    /// A Boolean.
    case bool(Bool)
    /// An integer.
    case integer(Int64)
    /// A number.
    case real(Double)
    /// A string.
    case string(String)
    /// Bytes.
    case data(Data)
    /// A point in time.
    case date(Date)
    /// Values in order.
    case array([PropertyList])
    /// Values by key.
    case dictionary([String: PropertyList])

    /// Decodes any value that a property list can hold; throws for others.
    ///
    /// - Throws: What the decoder throws.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([String: PropertyList].self) {
            self = .dictionary(value)
        } else {
            self = .array(try container.decode([PropertyList].self))
        }
    }

    /// Encodes the plain value: readers may also decode its plain type.
    ///
    /// - Throws: What the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .dictionary(let value): try container.encode(value)
        }
    }
}

extension PropertyList: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<PropertyList> { try $1.write(propertyList: $0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<PropertyList> { try $0.readPropertyList() } }
}

extension ObjectEncoder {
    fileprivate func write(propertyList value: PropertyList) throws {
        switch value {
        case .bool(let value): output.boolean(value)
        case .integer(let value): output.integer(value)
        case .real(let value): output.double(value)
        case .string(let value): try write(string: value)
        case .data(let value): try write(data: value)
        case .date(let value): output.double(value.timeIntervalSinceReferenceDate, tag: Tag.date)
        case .array(let value): try write(value)
        case .dictionary(let value): try write(value)
        }
    }
}

extension ObjectDecoder {
    /// Reads the kind of value that the tag names, instead of trying one after the other.
    fileprivate func readPropertyList() throws -> PropertyList {
        switch try input.peek() {
        case Tag.isTrue, Tag.isFalse: return .bool(try readBool())
        case 0...0x7F, Tag.integer, Tag.unsigned: return .integer(try readInteger(Int64.self))
        case Tag.double, Tag.float: return .real(try readDouble())
        case Tag.firstString...Tag.lastString, Tag.string: return .string(try readString())
        case Tag.bytes: return .data(try readData())
        case Tag.date: return .date(try readDate())
        case Tag.map: return .dictionary(try read([String: PropertyList].self))
        case Tag.list, Tag.set, Tag.packed: return .array(try read([PropertyList].self))
        default: throw mismatch("a property list", PropertyList.self)
        }
    }
}
