import Foundation
import Synchronization

/// The names of classes and the classes for names that the user has set.
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

    /// The settings for all archivers of the program.
    static let archivers = Mutex(ClassMap())

    /// The settings for all unarchivers of the program.
    static let unarchivers = Mutex(ClassMap())
}
