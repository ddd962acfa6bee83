import Foundation
import KeyedArchive
import Synchronization

extension NSCodingArchiver {
    /// The most levels of nested objects; deeper ones are postponed until the stack is short again.
    private static let deepest = 128

    // MARK: Placing values

    func store(forKey key: String, _ value: () throws -> ArchivedValue) {
        perform {
            guard allowsKeyedCoding else {
                throw ArchiveError(.misuse, "“\(key)” was encoded by key in a sequential archive")
            }
            let result = try value()
            frames[frames.count - 1].set(result, forKey: key)
        }
    }

    func append(_ type: String, _ value: () throws -> ArchivedValue) {
        perform {
            let result = try value()
            frames[frames.count - 1].append(result, type: type)
        }
    }

    /// Runs a step of encoding unless an earlier one failed, and keeps its error.
    func perform(_ step: () throws -> Void) {
        guard failure == nil else { return }
        do {
            if isFinished { throw ArchiveError(.misuse, "the archive is complete, nothing can be added") }
            try step()
        } catch {
            fail(error)
        }
    }

    func fail(_ error: any Error) {
        guard failure == nil else { return }
        failure =
            (error as? ArchiveError) ?? ArchiveError(.thrownByType, "the class's own code threw", underlying: error)
    }

    // MARK: Objects

    /// A reference to an object, which is encoded if it was not yet.
    func value(of object: Any?) throws -> ArchivedValue {
        guard let object = try resolve(object) else { return .reference(0) }
        let identity = ObjectIdentifier(object)
        if let index = indices[identity] {
            guard conditional.remove(index) != nil else { return .reference(index) }
            try encodeBody(object, at: index)
            return .reference(index)
        }
        let index = try reserve(for: object)
        try encodeBody(object, at: index)
        return .reference(index)
    }

    /// A reference to an object that is archived only if something else encodes it.
    func conditionalValue(of object: Any?) throws -> ArchivedValue {
        guard let object = try resolve(object) else { return .reference(0) }
        if let index = indices[ObjectIdentifier(object)] { return .reference(index) }
        let index = try reserve(for: object)
        conditional.insert(index)
        return .reference(index)
    }

    private func reserve(for object: NSObject) throws -> Int {
        guard writer.count < limits.objects else {
            throw ArchiveError(.limit, "more than \(limits.objects) objects")
        }
        let index = try writer.reserve()
        indices[ObjectIdentifier(object)] = index
        retained.append(object)
        return index
    }

    /// The object to archive for a value: bridged to a class, then replaced by its class or the delegate.
    private func resolve(_ value: Any?) throws -> NSObject? {
        guard let value else { return nil }
        let bridged = value as AnyObject
        // A nil optional in an `Any` bridges to NSNull.
        if bridged is NSNull, !(value is NSNull) { return nil }
        var object: AnyObject? = bridged
        let identity = ObjectIdentifier(bridged)
        if let known = replacements[identity] {
            object = known
        } else if indices[identity] == nil {
            object = replaced(bridged)
        }
        guard let object else { return nil }
        guard let result = object as? NSObject else { throw Self.unsupported(object) }
        return result
    }

    private func replaced(_ original: AnyObject) -> AnyObject? {
        var object: AnyObject? = original
        if let asked = original as? NSObject {
            object = asked.replacementObject(for: self).map { $0 as AnyObject }
        }
        if let delegate, let asked = object {
            object = delegate.archiver(self, willEncode: asked).map { $0 as AnyObject }
        }
        guard object !== original else { return original }
        delegate?.archiver(self, willReplace: original, with: object)
        replacements[ObjectIdentifier(original)] = .some(object)
        retained.append(original)
        // A replacement is not replaced again.
        if let object { replacements[ObjectIdentifier(object)] = .some(object) }
        return object
    }

    static func unsupported(_ object: AnyObject) -> ArchiveError {
        let name =
            String(reflecting: type(of: object)).hasSuffix("__SwiftValue")
            ? "a Swift value that is not a Foundation object" : ClassNames.name(of: type(of: object))
        return ArchiveError(.unsupported, "\(name) cannot be archived: it is not NSCoding")
    }

    // MARK: Bodies

    private func encodeBody(_ object: NSObject, at index: Int) throws {
        if frames.count > Self.deepest {
            deferred.append((object, index))
            return
        }
        try encodeNow(object, at: index)
        // Postponed objects follow after the outermost object, when the stack is short.
        guard frames.count == 1 else { return }
        while let next = deferred.popLast() { try encodeNow(next.object, at: next.index) }
    }

    private func encodeNow(_ object: NSObject, at index: Int) throws {
        if let value = NativeEncoding.plainValue(of: object) {
            try writer.fill(index, with: value)
        } else {
            // Decimal numbers present themselves as plain numbers, which would lose digits.
            let type: AnyClass =
                object is NSDecimalNumber ? NSDecimalNumber.self : object.classForKeyedArchiver ?? object.classForCoder
            let native = NativeEncoding.body(of: type)
            guard let coding = object as? any NSCoding else { throw Self.unsupported(object) }
            if isSecure, (object as? any NSSecureCoding).map({ Swift.type(of: $0).supportsSecureCoding }) != true {
                throw ArchiveError(.unsupported, "\(ClassNames.name(of: type)) does not support secure coding")
            }
            // Foundation's own classes always use keys, and trap without them.
            frames.append(
                EncodingFrame(allowsKeys: !isSequential || Ancestry.of(Swift.type(of: object)).hasFoundations))
            if let native { try native(self, object) } else { coding.encode(with: self) }
            var frame = frames.removeLast()
            if let failure { throw failure }
            frame.sealTypes()
            let (name, superclasses) = names(of: type)
            let version = (type as? any NSCodingVersioned.Type)?.classVersion ?? 0
            versions[name] = version
            try writer.fill(
                index, className: name, superclasses: superclasses,
                hints: (type as? NSObject.Type)?.classFallbacksForKeyedArchiver() ?? [], version: version,
                keys: frame.keys, values: frame.values)
        }
        delegate?.archiver(self, didEncode: object)
    }

    private func names(of type: AnyClass) -> (String, [String]) {
        let superclasses = ClassNames.superclasses(of: type)
        if let name = classMap[type] ?? ClassMap.archivers.withLock({ $0[type] }) { return (name, superclasses) }
        return (ClassNames.name(of: type), superclasses)
    }
}
