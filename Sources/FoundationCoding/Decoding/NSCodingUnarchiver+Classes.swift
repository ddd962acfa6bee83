import Foundation
import KeyedArchive
import Synchronization

extension NSCodingUnarchiver {
    // MARK: Lists

    /// The allow list for a call that names classes, or for one that does not.
    func list(of classes: [AnyClass]?) -> AllowList? {
        if strictness == .anyClass { return nil }
        guard let classes else {
            let current = lists[lists.count - 1] ?? AllowList.of([])
            return current.isWidened ? current : current.widened
        }
        let key = classes.map { ObjectIdentifier($0) }
        if let known = listsByClasses[key] { return known }
        let list = AllowList.of(classes)
        listsByClasses[key] = list
        return list
    }

    /// Checks that a class is allowed here.
    func check(_ type: AnyClass) throws {
        guard strictness != .anyClass, let list = lists[lists.count - 1] else { return }
        guard list.allows(type) else { throw refused(type) }
        // Classes that this library decodes itself are safe, even if Foundation does not say so; asking some of them
        // traps.
        guard strictness == .secure, NativeDecoding.maker(of: type) == nil else { return }
        guard let secure = type as? any NSSecureCoding.Type, secure.supportsSecureCoding else {
            throw ArchiveError(
                .classNotAllowed,
                "\(ClassNames.name(of: type)) does not support secure coding: let it adopt NSSecureCoding, decode with "
                    + "requiringSecureCoding: false, or set requiresSecureCoding to false for an archive of your own")
        }
    }

    func refused(_ type: AnyClass) -> ArchiveError {
        ArchiveError(.classNotAllowed, "\(ClassNames.name(of: type)) is not allowed here: \(Self.advice)")
    }

    private static let advice =
        "name the class in the call that decodes, or set requiresSecureCoding to false for an archive of your own"

    /// Checks that the content of a collection made earlier is allowed here, too.
    func verify(_ index: Int) throws {
        guard strictness != .anyClass, let list = lists[lists.count - 1] else { return }
        var pending = [index]
        var seen: Set<Int> = []
        while let index = pending.popLast() {
            guard seen.insert(index).inserted, !verified.contains(Verified(index: index, list: ObjectIdentifier(list))),
                graph.objects.indices.contains(index), let record = graph.objects[index].record
            else { continue }
            let type: AnyClass = try resolve(record)
            guard list.allows(type) else { throw refused(type) }
            guard NativeDecoding.isCollection(type) else { continue }
            for value in record.values {
                guard case .list(let elements) = resolved(value) else {
                    if case .reference(let next) = value { pending.append(next) }
                    continue
                }
                for case .reference(let next) in elements { pending.append(next) }
            }
        }
        for index in seen { verified.insert(Verified(index: index, list: ObjectIdentifier(list))) }
    }

    // MARK: Names

    /// The class for a record, or its replacement.
    func resolve(_ record: ArchivedRecord) throws -> AnyClass {
        let type: AnyClass = try find(record)
        try FoundationNeeds.admit(type)
        guard let other = (type as? NSObject.Type)?.classForKeyedUnarchiver(), other != type else { return type }
        try FoundationNeeds.admit(other)
        return other
    }

    private func find(_ record: ArchivedRecord) throws -> AnyClass {
        let name = record.typeName
        if let type = try? classNamed(name) { return type }
        var classes: [String] = []
        var hints: [String] = []
        if let index = record.classIndex, graph.objects.indices.contains(index),
            case .classRecord(let description) = graph.objects[index]
        {
            classes = description.classes ?? []
            hints = description.hints ?? []
        }
        let others = Array(classes.drop { $0 == name })
        if let type = delegate?.unarchiver(self, cannotDecodeObjectOfClassName: name, originalClasses: others) {
            return type
        }
        // Uses the first known class that is allowed here; if none is, the error names the first known one.
        let known = hints.compactMap { try? self.classNamed($0) }
        let allowed: AnyClass? = known.first { type in
            (try? FoundationNeeds.admit(type)) != nil && (try? self.check(type)) != nil
        }
        if let type = allowed ?? known.first { return type }
        throw unknown(name)
    }

    private func unknown(_ name: String) -> ArchiveError {
        let text = "the class \(Self.printable(name)) is not known, or not allowed here"
        return ArchiveError(.classNotAllowed, strictness == .anyClass ? text : "\(text): \(Self.advice)")
    }

    /// The class with a name, without asking the delegate.
    func classNamed(_ name: String) throws -> AnyClass {
        if let type = classMap[name] ?? ClassMap.unarchivers.withLock({ $0[name] }) { return type }
        if let type = NativeDecoding.classes[name] { return type }
        if let type = lists[lists.count - 1]?.names[name] { return type }
        for list in listsByClasses.values { if let type = list.names[name] { return type } }
        if strictness == .anyClass, let type = ClassNames.find(name) { return type }
        throw unknown(name)
    }

    /// A name from the archive, made safe for a message.
    static func printable(_ name: String) -> String {
        String(String.UnicodeScalarView(name.unicodeScalars.prefix(80).filter { $0.value >= 32 && $0.value < 127 }))
    }

    /// Makes objects of `type` for a class name in this archive; nil removes the setting.
    ///
    /// The class must still be allowed where it occurs.
    public func setClass(_ type: AnyClass?, forClassName name: String) { classMap[name] = type }

    /// The class set for a name in this archive.
    public func `class`(forClassName name: String) -> AnyClass? { classMap[name] }

    /// Makes objects of `type` for a class name in all archives; an unarchiver's own settings take precedence.
    public class func setClass(_ type: AnyClass?, forClassName name: String) {
        ClassMap.unarchivers.withLock { $0[name] = type }
    }

    /// The class set for a name in all archives.
    public class func `class`(forClassName name: String) -> AnyClass? { ClassMap.unarchivers.withLock { $0[name] } }
}
