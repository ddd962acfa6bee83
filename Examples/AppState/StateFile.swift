import FooBar
import Foundation
import KeyedArchive

/// The state that the program keeps from one run to the next.
struct State {
    var foo = Foo(name: "James", age: 40)
    var bar = Bar()
    var runs = 1
    var format = ArchiveFormat.binary

    /// Makes everybody a year older.
    mutating func celebrate() {
        foo.celebrate()
        for foo in bar.foos { foo.celebrate() }
    }
}

/// The archive with the state.
struct StateFile {
    let url: URL

    /// The file exists and is not empty, but does not contain the state.
    struct Damaged: Error, CustomStringConvertible {
        let description: String
    }

    /// The saved state; nil if the file is missing or empty.
    ///
    /// - Throws: `Damaged`, or the error of reading the file.
    func restore() throws -> State? {
        guard try !isMissingOrEmpty() else { return nil }
        let unarchiver: KeyedUnarchiver
        do {
            unarchiver = try KeyedUnarchiver(contentsOf: url)
        } catch let error as ArchiveError where ![.file, .noSuchFile].contains(error.code) {
            // The error already names the file.
            throw Damaged(description: "\(error)")
        }
        do {
            return State(
                foo: try unarchiver.decode(Foo.self, forKey: "myfoo"),
                bar: try unarchiver.decode(Bar.self, forKey: "mybar"),
                // Archives of other programs contain the objects but no count.
                runs: try unarchiver.decodeIfPresent(Int.self, forKey: "runs") ?? 1, format: unarchiver.format)
        } catch {
            throw Damaged(description: "the file \(url.path) is damaged (\(error))")
        }
    }

    private func isMissingOrEmpty() throws -> Bool {
        guard FileManager.default.fileExists(atPath: url.path) else { return true }
        let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int
        return size == 0
    }

    /// Writes both objects into one archive, which replaces the old one when it is complete.
    func save(_ state: State) throws {
        let archiver = KeyedArchiver(format: state.format)
        try archiver.encode(state.foo, forKey: "myfoo")
        try archiver.encode(state.bar, forKey: "mybar")
        try archiver.encode(state.runs, forKey: "runs")
        try archiver.finish(to: url)
    }

    /// Renames a file that cannot be read to an unused name.
    func keepAside() throws -> URL {
        var number = 1
        while true {
            let name = "\(url.path).damaged\(number == 1 ? "" : "-\(number)")"
            if !FileManager.default.fileExists(atPath: name) {
                do {
                    try FileManager.default.moveItem(atPath: url.path, toPath: name)
                } catch {
                    let reason = error.localizedDescription
                    throw Damaged(
                        description: "the file \(url.path) is damaged, and cannot be kept as \(name): \(reason)")
                }
                return URL(fileURLWithPath: name)
            }
            number += 1
        }
    }
}
