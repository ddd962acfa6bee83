import Foundation
import Synchronization

/// The names of classes in archives.
enum ClassNames {
    /// The name of a class: without its module for Foundation's classes, with it for others.
    static func name(of type: AnyClass) -> String {
        names.withLock { known in
            if let name = known[ObjectIdentifier(type)] { return name }
            let full = String(reflecting: type)
            // Foundation's own function accepts only top-level classes, and traps for others.
            let name =
                full.split(separator: ".", omittingEmptySubsequences: false).count == 2
                ? NSStringFromClass(type) : full
            known[ObjectIdentifier(type)] = name
            return name
        }
    }

    /// The names of the superclasses, nearest first.
    static func superclasses(of type: AnyClass) -> [String] {
        var result: [String] = []
        var current: AnyClass? = superclass(of: type)
        while let type = current {
            result.append(name(of: type))
            current = superclass(of: type)
        }
        return result
    }

    static func superclass(of type: AnyClass) -> AnyClass? { _getSuperclass(type) }

    static func isSubclass(_ type: AnyClass, of ancestor: AnyClass) -> Bool {
        var current: AnyClass? = type
        while let type = current {
            if type == ancestor { return true }
            current = superclass(of: type)
        }
        return false
    }

    /// Finds a class of the program by a name like `Module.Class`, or a Foundation class by its plain name.
    ///
    /// Accepts only plain identifiers: the runtime's demangler is not safe for hostile names.
    static func find(_ name: String) -> AnyClass? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, name.utf8.count <= 512, parts.allSatisfy(isIdentifier) else { return nil }
        return NSClassFromString(name)
    }

    private static func isIdentifier(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
        return text.utf8.allSatisfy {
            $0 == 95 || (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
        }
    }

    private static let names = Mutex<[ObjectIdentifier: String]>([:])
}
