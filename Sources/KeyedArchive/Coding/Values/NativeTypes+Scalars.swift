#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension NativelyArchived where Self: FixedWidthInteger & SignedInteger {
    static func makeWriter() -> AnyValueCoder {
        ValueWriter<Self> { $1.output.integer(Int64(truncatingIfNeeded: $0)) }
    }
    static func makeReader() -> AnyValueCoder { ValueReader<Self> { try $0.readInteger(Self.self) } }
}

extension NativelyArchived where Self: FixedWidthInteger & UnsignedInteger {
    static func makeWriter() -> AnyValueCoder {
        ValueWriter<Self> { $1.output.unsigned(UInt64(truncatingIfNeeded: $0)) }
    }
    static func makeReader() -> AnyValueCoder { ValueReader<Self> { try $0.readInteger(Self.self) } }
}

extension Int: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<Int> { $1.output.integer(Int64($0)) } }
    static func makeReader() -> AnyValueCoder { ValueReader<Int> { try $0.readInteger(Int.self) } }
}
extension Int64: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<Int64> { $1.output.integer($0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<Int64> { try $0.readInteger(Int64.self) } }
}
extension Int8: NativelyArchived {}
extension Int16: NativelyArchived {}
extension Int32: NativelyArchived {}
extension UInt: NativelyArchived {}
extension UInt8: NativelyArchived {}
extension UInt16: NativelyArchived {}
extension UInt32: NativelyArchived {}
extension UInt64: NativelyArchived {}

extension Int128: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<Int128> { $1.output.wide($0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<Int128> { try $0.readInteger(Int128.self) } }
}

extension UInt128: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<UInt128> { $1.output.wide($0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<UInt128> { try $0.readInteger(UInt128.self) } }
}

extension Bool: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<Bool> { $1.output.boolean($0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<Bool> { try $0.readBool() } }
}

extension Double: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<Double> { $1.output.double($0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<Double> { try $0.readDouble() } }
}

extension Float: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<Float> { $1.output.float($0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<Float> { try $0.readFloat() } }
}

extension String: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<String> { try $1.write(string: $0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<String> { try $0.readString() } }
}

extension Data: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<Data> { try $1.write(data: $0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<Data> { try $0.readData() } }
}

extension Date: NativelyArchived {
    static func makeWriter() -> AnyValueCoder {
        ValueWriter<Date> { $1.output.double($0.timeIntervalSinceReferenceDate, tag: Tag.date) }
    }
    static func makeReader() -> AnyValueCoder { ValueReader<Date> { try $0.readDate() } }
}

extension UUID: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<UUID> { $1.write(uuid: $0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<UUID> { try $0.readUUID() } }
}

extension URL: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<URL> { try $1.write(url: $0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<URL> { try $0.readURL() } }
}

extension Decimal: NativelyArchived {
    static func makeWriter() -> AnyValueCoder { ValueWriter<Decimal> { $1.write(decimal: $0) } }
    static func makeReader() -> AnyValueCoder { ValueReader<Decimal> { try $0.readDecimal() } }
}
