import Foundation
import Synchronization

/// Names for classes and classes for names, as users set them.
struct ClassMap: @unchecked Sendable {
    // A value type; the metatypes it holds are immutable and may be used anywhere.
    private var classes: [String: AnyClass] = [:]
    private var names: [ObjectIdentifier: String] = [:]

    subscript(name: String) -> AnyClass? {
        get { classes[name] }
        set { classes[name] = newValue }
    }

    subscript(type: AnyClass) -> String? {
        get { names[ObjectIdentifier(type)] }
        set { names[ObjectIdentifier(type)] = newValue }
    }

    /// What was set for all archivers of the program.
    static let archivers = Mutex(ClassMap())

    /// What was set for all unarchivers of the program.
    static let unarchivers = Mutex(ClassMap())
}
