import Foundation
import KeyedArchive

/// An object being decoded, or the values that belong to none.
struct TypedStreamFrame {
    var cursor: TypedStreamCursor
    /// Which object it is, in the words of an error; nil at the top.
    let place: Place?
    /// Its classes.
    var ancestry: ArchivedAncestry?
    /// The number of values that were decoded.
    var valueCount = 0
    /// How deep objects are inside one another in it.
    var height = 0
    /// What it takes to compare it, as far as its objects were decoded.
    var cost = ComparisonCost()

    struct Place {
        let label: Int
        /// The position of the object in the values around it.
        let position: Int
    }
}

/// A class of an archive with its superclasses, the class itself first.
struct ArchivedAncestry {
    struct Member: Hashable {
        let name: String
        let version: Int
    }

    let members: [Member]

    /// The most superclasses; the deepest hierarchies have about ten.
    private static let most = 256

    /// Reads the class with a label; nil is the label of no class.
    init(_ label: Int?, in graph: TypedStreamGraph) throws {
        var members: [Member] = []
        var next = label
        while let label = next {
            guard members.count < Self.most else {
                throw ArchiveError(
                    .limit, "a class with more than \(Self.most) superclasses, or that is its own superclass")
            }
            guard case .type(let type) = graph.labels[label] else { break }
            // With bytes replaced it would be another name where the archive is written again.
            guard let name = type.name.string else {
                throw ArchiveError(.unsupported, "a class whose name is not UTF-8")
            }
            members.append(Member(name: name, version: type.version))
            next = type.superclass
        }
        self.members = members
    }

    /// The name of the class; nil for an object of no class.
    var name: String? { members.first?.name }
}

extension TypeEncoding {
    static func unknown(_ text: String) -> ArchiveError {
        ArchiveError(.unsupported, "the type string “\(text)” is not one that can be archived")
    }

    /// Whether a value of the type `stored` may be decoded as this one.
    ///
    /// - Parameter isWide: Whether integers and reals of 32 bits may be taken for those of 64.
    func accepts(_ stored: TypeEncoding, isWide: Bool) -> Bool {
        switch (self, stored) {
        case (.scalar(let one), .scalar(let other)): one == other || (isWide && Self.isNarrow(other, for: one))
        case (.array(let count, let element), .array(let otherCount, let other)):
            count == otherCount && element.accepts(other, isWide: isWide)
        case (.structure(let name, let fields), .structure(let otherName, let others)):
            Self.areSame(name, otherName) && fields.count == others.count
                && zip(fields, others).allSatisfy { $0.accepts($1, isWide: isWide) }
        default: false
        }
    }

    private static func isNarrow(_ code: UInt8, for wide: UInt8) -> Bool {
        switch Character(UnicodeScalar(wide)) {
        case "q": "il".utf8.contains(code)
        case "Q": "IL".utf8.contains(code)
        case "d": code == UInt8(ascii: "f")
        default: false
        }
    }

    /// Whether two structures are one; older archivers write no name or “?”, and Foundation's have several.
    private static func areSame(_ one: String?, _ other: String?) -> Bool {
        guard let one, let other, one != "?", other != "?" else { return true }
        return plain(one) == plain(other)
    }

    /// `Point` for `_NSPoint`, `NSPoint` and `CGPoint`.
    private static func plain(_ name: String) -> Substring {
        for prefix in ["_NS", "NS", "CG"] where name.hasPrefix(prefix) { return name.dropFirst(prefix.count) }
        return name[...]
    }
}
