public import Foundation
internal import KeyedArchive

/// A coder that only encodes or only decodes: a call in the other direction sets `error` and returns nil or 0.
///
/// Foundation's own coders end the program there. The archivers and unarchivers inherit from this class.
public class OneDirectionCoder: NSCoder {
    override init() { super.init() }

    /// Reports a class that decodes in `encode(with:)` or encodes in `init(coder:)`.
    private func refuse(_ call: String) { failWithError(refusal(of: call)) }

    /// The error of a call that the coder has no answer to.
    func refusal(of call: String) -> ArchiveError {
        ArchiveError(.misuse, "\(call) was called on a coder that works in the other direction")
    }

    private func refuse<Nothing>(_ call: String, _ nothing: Nothing) -> Nothing {
        refuse(call)
        return nothing
    }

    // MARK: Encoding

    /// Sets `error`.
    public override func encode(_ object: Any?, forKey key: String) { refuse("encode(_:forKey:)") }
    /// Sets `error`.
    public override func encodeConditionalObject(_ object: Any?, forKey key: String) {
        refuse("encodeConditionalObject(_:forKey:)")
    }
    /// Sets `error`.
    public override func encode(_ value: Bool, forKey key: String) { refuse("encode(_:forKey:)") }
    /// Sets `error`.
    public override func encode(_ value: Int, forKey key: String) { refuse("encode(_:forKey:)") }
    /// Sets `error`.
    public override func encode(_ value: Int32, forKey key: String) { refuse("encode(_:forKey:)") }
    /// Sets `error`.
    public override func encode(_ value: Int64, forKey key: String) { refuse("encode(_:forKey:)") }
    /// Sets `error`.
    public override func encode(_ value: Float, forKey key: String) { refuse("encode(_:forKey:)") }
    /// Sets `error`.
    public override func encode(_ value: Double, forKey key: String) { refuse("encode(_:forKey:)") }
    /// Sets `error`.
    public override func encodeBytes(_ bytes: UnsafePointer<UInt8>?, length: Int, forKey key: String) {
        refuse("encodeBytes(_:length:forKey:)")
    }
    /// Sets `error`.
    public override func encode(_ object: Any?) { refuse("encode(_:)") }
    /// Sets `error`.
    public override func encodeRootObject(_ rootObject: Any) { refuse("encodeRootObject(_:)") }
    /// Sets `error`.
    public override func encodeBycopyObject(_ anObject: Any?) { refuse("encodeBycopyObject(_:)") }
    /// Sets `error`.
    public override func encodeByrefObject(_ anObject: Any?) { refuse("encodeByrefObject(_:)") }
    /// Sets `error`.
    public override func encodeConditionalObject(_ object: Any?) { refuse("encodeConditionalObject(_:)") }
    /// Sets `error`.
    public override func encodePropertyList(_ aPropertyList: Any) { refuse("encodePropertyList(_:)") }
    /// Sets `error`.
    public override func encode(_ data: Data) { refuse("encode(_:)") }
    /// Sets `error`.
    public override func encodeBytes(_ bytes: UnsafeRawPointer?, length: Int) { refuse("encodeBytes(_:length:)") }
    /// Sets `error`.
    public override func encodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeRawPointer) {
        refuse("encodeValue(ofObjCType:at:)")
    }
    /// Sets `error`.
    public override func encodeArray(
        ofObjCType type: UnsafePointer<CChar>, count: Int, at array: UnsafeRawPointer
    ) {
        refuse("encodeArray(ofObjCType:count:at:)")
    }

    // MARK: Decoding

    /// Sets `error` and returns false.
    public override func containsValue(forKey key: String) -> Bool { refuse("containsValue(forKey:)", false) }
    /// Sets `error`; nil.
    public override func decodeObject(forKey key: String) -> Any? { refuse("decodeObject(forKey:)", nil) }
    /// Sets `error`; nil.
    public override func decodeObject<T: NSCoding>(of type: T.Type, forKey key: String) -> T? where T: NSObject {
        refuse("decodeObject(of:forKey:)", nil)
    }
    /// Sets `error`; nil.
    public override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
        refuse("decodeObject(of:forKey:)", nil)
    }
    /// Sets `error`; nil.
    public override func decodePropertyList(forKey key: String) -> Any? { refuse("decodePropertyList(forKey:)", nil) }
    /// Sets `error` and returns false.
    public override func decodeBool(forKey key: String) -> Bool { refuse("decodeBool(forKey:)", false) }
    /// Sets `error`; 0.
    public override func decodeInteger(forKey key: String) -> Int { refuse("decodeInteger(forKey:)", 0) }
    /// Sets `error`; 0.
    public override func decodeCInt(forKey key: String) -> Int32 { refuse("decodeCInt(forKey:)", 0) }
    /// Sets `error`; 0.
    public override func decodeInt32(forKey key: String) -> Int32 { refuse("decodeInt32(forKey:)", 0) }
    /// Sets `error`; 0.
    public override func decodeInt64(forKey key: String) -> Int64 { refuse("decodeInt64(forKey:)", 0) }
    /// Sets `error`; 0.
    public override func decodeFloat(forKey key: String) -> Float { refuse("decodeFloat(forKey:)", 0) }
    /// Sets `error`; 0.
    public override func decodeDouble(forKey key: String) -> Double { refuse("decodeDouble(forKey:)", 0) }
    /// Sets `error` and passes no bytes.
    public override func withDecodedUnsafeBufferPointer<Result>(
        forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result {
        refuse("withDecodedUnsafeBufferPointer(forKey:body:)")
        return try body(nil)
    }
    /// Sets `error` and passes no bytes.
    public override func withDecodedUnsafeBytes<Result>(
        forKey key: String, body: (UnsafeRawBufferPointer?) throws -> Result
    ) rethrows -> Result {
        refuse("withDecodedUnsafeBytes(forKey:body:)")
        return try body(nil)
    }
    /// Sets `error`; nil.
    public override func decodeObject() -> Any? { refuse("decodeObject()", nil) }
    /// Sets `error`; nil.
    public override func decodeData() -> Data? { refuse("decodeData()", nil) }
    /// Sets `error`; nil.
    public override func decodePropertyList() -> Any? { refuse("decodePropertyList()", nil) }
    /// Sets `error` and leaves the memory unchanged.
    public override func decodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeMutableRawPointer) {
        refuse("decodeValue(ofObjCType:at:)")
    }
    /// Sets `error` and leaves the memory unchanged.
    public override func decodeArray(
        ofObjCType type: UnsafePointer<CChar>, count: Int, at array: UnsafeMutableRawPointer
    ) {
        refuse("decodeArray(ofObjCType:count:at:)")
    }
}
