import Foundation
import KeyedArchive

/// What Foundation's own `init(coder:)` of a class needs to find in an archive.
///
/// It traps where a value is missing, of another kind or out of range, and an archive from elsewhere may contain anything.
/// So the unarchiver calls it only for classes of the table, directly or by way of a subclass, and only after it has
/// found each value to be as the table says.
package struct FoundationNeeds: Sendable {
    /// A value that is read by key.
    package struct Value: Sendable {
        /// The key.
        package let key: String
        let kind: Kind
        let isRequired: Bool
    }

    enum Kind: Sendable {
        /// A string of at most so many bytes.
        case text(longest: Int)
        case integer(ClosedRange<Int>)
        case real
        case flag
        case bytes
        /// An object of a class or its subclasses.
        case object([AnyClass])
        /// A number as an object, which is read as an integer within bounds; as any number without them.
        case number(ClosedRange<Int>?)
        /// A dictionary of strings.
        case texts
    }

    /// The values.
    package let values: [Value]
    /// Classes that it asks for without naming them.
    let unnamed: [AnyClass]
    /// Checks what the list of values cannot say.
    let further: NativeDecoding.Maker?

    init(
        _ values: [Value] = [], unnamed: [AnyClass] = [],
        further: NativeDecoding.Maker? = nil
    ) {
        self.values = values
        self.unnamed = unnamed
        self.further = further
    }

    /// Checks the object whose frame is the unarchiver's innermost.
    func check(_ unarchiver: NSCodingUnarchiver, _ record: ArchivedRecord, _ index: Int) throws {
        for value in values where try !value.isFound(unarchiver) && value.isRequired {
            throw ArchiveError(.missingKey, "there is no \(value.key)")
        }
        if let further { _ = try further(unarchiver, record, index) }
        if let failure = unarchiver.failure { throw failure }
        unarchiver.frames[unarchiver.frames.count - 1].position = 0
    }
}

extension FoundationNeeds.Value {
    static func required(_ kind: FoundationNeeds.Kind, _ keys: String...) -> [Self] {
        keys.map { Self(key: $0, kind: kind, isRequired: true) }
    }

    static func optional(_ kind: FoundationNeeds.Kind, _ keys: String...) -> [Self] {
        keys.map { Self(key: $0, kind: kind, isRequired: false) }
    }

    /// Whether the value is there; throws if it is another than is needed.
    fileprivate func isFound(_ unarchiver: NSCodingUnarchiver) throws -> Bool {
        guard let value = unarchiver.frames[unarchiver.frames.count - 1].value(forKey: key) else { return false }
        switch kind {
        case .text(let longest): return try unarchiver.text(key, longest: longest) != nil
        case .integer(let bounds):
            _ = try unarchiver.whole(key, in: bounds)
            return try unarchiver.number(value) != nil
        case .real:
            _ = try unarchiver.real(key)
            return try unarchiver.number(value) != nil
        case .flag:
            _ = unarchiver.decodeBool(forKey: key)
            if let failure = unarchiver.failure { throw failure }
            return try unarchiver.number(value) != nil
        case .bytes:
            let bytes = unarchiver.bytes(forKey: key)
            if let failure = unarchiver.failure { throw failure }
            return bytes != nil
        case .object(let classes):
            let object = unarchiver.decodeObject(of: classes, forKey: key)
            if let failure = unarchiver.failure { throw failure }
            return object != nil
        case .number(let bounds): return try isNumber(value, unarchiver, bounds)
        case .texts: return try isTexts(unarchiver)
        }
    }

    private func isNumber(
        _ value: ArchivedValue, _ unarchiver: NSCodingUnarchiver, _ bounds: ClosedRange<Int>?
    ) throws -> Bool {
        guard let number = try unarchiver.number(value) else { return false }
        if let bounds {
            guard bounds.contains(try Scalar.integer(number)) else {
                throw ArchiveError(.outOfRange, "\(key) out of range")
            }
        } else {
            _ = try Scalar.real(number)
        }
        return try unarchiver.object(NSNumber.self, key) != nil
    }

    private func isTexts(_ unarchiver: NSCodingUnarchiver) throws -> Bool {
        let object = unarchiver.decodeObject(of: [NSDictionary.self, NSString.self], forKey: key)
        if let failure = unarchiver.failure { throw failure }
        guard let object else { return false }
        guard let dictionary = object as? NSDictionary else {
            throw ArchiveError(.typeMismatch, "expected a dictionary")
        }
        for pair in RawElements.pairs(dictionary) {
            guard pair.key is NSString, pair.value is NSString else {
                throw ArchiveError(.typeMismatch, "\(key): expected strings only")
            }
        }
        return true
    }
}
