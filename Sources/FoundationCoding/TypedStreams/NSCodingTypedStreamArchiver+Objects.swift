import Foundation
import KeyedArchive
import Synchronization

extension NSCodingTypedStreamArchiver {
    /// The levels of objects on one stack: those of other coders take less of it.
    private static let levels = StackSegment.levels / 2

    /// Writes an object in the place of a value of `@`, or visits it while a root is looked through.
    func write(_ object: Any?) throws {
        guard let object = try resolve(object) else {
            if pass == .writing { writer.null() }
            return
        }
        let identity = ObjectIdentifier(object)
        if pass == .finding {
            guard found.insert(identity).inserted else { return }
            retained.append(object)
            return try inside(object, nil)
        }
        let number = nextOriginal(of: object)
        if let label = number.map({ numberLabels[$0] }) ?? labels[identity] { return writer.reference(label) }
        guard nextLabel < limits.objects else {
            throw ArchiveError(.limit, "more than \(limits.objects) objects")
        }
        if let number { numberLabels[number] = nextLabel } else { labels[identity] = nextLabel }
        nextLabel += 1
        retained.append(object)
        try inside(object, number ?? origin?.labels[identity])
    }

    /// Encodes an object one level deeper, on a new stack if necessary.
    ///
    /// - Parameter label: The object's label in the archive that is written again.
    private func inside(_ object: NSObject, _ label: Int?) throws {
        guard places.count <= limits.chain else {
            throw ArchiveError(.limit, "objects inside one another more than \(limits.chain) deep")
        }
        places.append(EncodingPlace(original: label.flatMap { origin?.groups(ofObject: $0) }))
        defer { places.removeLast() }
        do {
            if places.count.isMultiple(of: Self.levels) {
                try StackSegment.run { try self.encodeNow(object, label) }
            } else {
                try encodeNow(object, label)
            }
        } catch {
            // The places say where.
            fail(error)
            throw error
        }
    }

    private func encodeNow(_ object: NSObject, _ label: Int?) throws {
        let type: AnyClass = FoundationWriting.type(of: object)
        let native = FoundationWriting.body(of: type)
        if native == nil {
            // Foundation's own code needs keys, and ends the program without them.
            guard Ancestry.of(Swift.type(of: object)).coding == nil, object is any NSCoding else {
                throw Self.unsupported(object)
            }
        }
        if pass == .writing {
            writer.new()
            let ancestry = ancestry(of: type, isNative: native != nil, label)
            note(ancestry)
            try write(ancestry)
        }
        if let native {
            if try !copyOriginal(of: object, label) { try native(self, object) }
        } else {
            (object as? any NSCoding)?.encode(with: self)
        }
        if let failure { throw failure }
        if pass == .writing { writer.endObject() }
    }

    private static func unsupported(_ object: AnyObject) -> ArchiveError {
        let name = ClassNames.name(of: Swift.type(of: object))
        return ArchiveError(
            .unsupported,
            object is any NSCoding
                ? "\(name) is a class of Foundation, or a subclass of one, that has no form in typedstreams"
                : NSCodingArchiver.unsupported(object).message)
    }

    // MARK: Replacements

    /// The object to archive for a value: bridged to a class, then replaced by what it says.
    func resolve(_ value: Any?) throws -> NSObject? {
        guard let value else { return nil }
        let bridged = value as AnyObject
        // A nil optional in an `Any` bridges to NSNull.
        if bridged is NSNull, !(value is NSNull) { return nil }
        let identity = ObjectIdentifier(bridged)
        var object: AnyObject? = bridged
        if let known = replacements[identity] {
            object = known
        } else if labels[identity] == nil, !found.contains(identity), let asked = bridged as? NSObject {
            let other = asked.replacementObject(for: self).map { $0 as AnyObject }
            if other !== asked {
                replacements[identity] = .some(other)
                retained.append(asked)
                // A replacement is not replaced again.
                if let other { replacements[ObjectIdentifier(other)] = .some(other) }
            }
            object = other
        }
        guard let object else { return nil }
        guard let result = object as? NSObject else { throw NSCodingArchiver.unsupported(object) }
        return result
    }

    // MARK: Classes

    func write(type: AnyClass?) throws {
        guard pass == .writing else { return }
        guard let type else { return writer.null() }
        try write(FoundationWriting.ancestry(of: type) ?? names(of: type))
    }

    /// Writes a class and its superclasses, as far as they were not written before.
    func write(_ ancestry: [ArchivedAncestry.Member]) throws {
        var rest = ancestry[...]
        while let member = rest.first {
            let key = Array(rest)
            if let label = classLabels[key] { return writer.reference(label) }
            classLabels[key] = nextLabel
            nextLabel += 1
            writer.new()
            var name = otherNames[member.name] ?? member.name
            name.withUTF8 { writer.sharedString(UnsafeRawBufferPointer($0)) }
            writer.number(Int64(member.version))
            rest = rest.dropFirst()
        }
        writer.null()
    }

    private func ancestry(of type: AnyClass, isNative: Bool, _ label: Int?) -> [ArchivedAncestry.Member] {
        let original = label.flatMap { origin?.members($0) }
        if isNative {
            return original ?? FoundationWriting.ancestry(of: type) ?? names(of: type)
        }
        let own = names(of: type)
        guard var members = original, let first = members.first, classMap[type] == nil else { return own }
        // The names of the file stand for the program's classes there; their versions are the program's, if it has any.
        if own.count == members.count {
            var current: AnyClass? = type
            for position in members.indices {
                guard let known = current else { break }
                let version = known is any NSCodingVersioned.Type ? own[position].version : members[position].version
                members[position] = .init(name: members[position].name, version: version)
                current = ClassNames.superclass(of: known)
            }
        } else if type is any NSCodingVersioned.Type {
            members[0] = .init(name: first.name, version: own[0].version)
        }
        return members
    }

    /// A class of the program and its superclasses, with the version that each declares.
    private func names(of type: AnyClass) -> [ArchivedAncestry.Member] {
        var members: [ArchivedAncestry.Member] = []
        var current: AnyClass? = type
        while let type = current {
            let name =
                classMap[type] ?? ClassMap.archivers.withLock { $0[type] } ?? ClassNames.name(of: type)
            members.append(.init(name: name, version: (type as? any NSCodingVersioned.Type)?.classVersion ?? 0))
            current = ClassNames.superclass(of: type)
        }
        return members
    }
}

extension NSCodingTypedStreamUnarchiver {
    /// The classes of an object in the archive.
    func members(_ label: Int) -> [ArchivedAncestry.Member]? {
        guard case .object(let object) = graph.labels[label] else { return nil }
        return try? ancestry(object.classLabel).members
    }
}
