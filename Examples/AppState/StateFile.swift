import FooBar
import Foundation
import KeyedArchive

/// What the program keeps from one run to the next.
struct State {
    var foo = Foo(name: "James", age: 40)
    var bar = Bar()
    var runs = 1
    var format = ArchiveFormat.binary

    /// Everybody is a year older.
    mutating func celebrate() {
        foo.celebrate()
        for foo in bar.foos { foo.celebrate() }
    }
}

/// The archive the state lies in.
struct StateFile {
    let url: URL

    /// The file is there and has something in it, but not the state.
    struct Damaged: Error, CustomStringConvertible {
        let description: String
    }

    /// What was saved; nil if the file is missing or empty.
    ///
    /// - Throws: `Damaged`, or what made the file impossible to read.
    func restore() throws -> State? {
        guard try !isMissingOrEmpty() else { return nil }
        let unarchiver: KeyedUnarchiver
        do {
            unarchiver = try KeyedUnarchiver(contentsOf: url)
        } catch let error as ArchiveError where ![.file, .noSuchFile].contains(error.code) {
            // It names the file already.
            throw Damaged(description: "\(error)")
        }
        do {
            return State(
                foo: try unarchiver.decode(Foo.self, forKey: "myfoo"),
                bar: try unarchiver.decode(Bar.self, forKey: "mybar"),
                // Archives by other programs have the objects and no count.
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

    /// Writes both objects into one archive, which takes the old one's place when it is complete.
    func save(_ state: State) throws {
        let archiver = KeyedArchiver(format: state.format)
        try archiver.encode(state.foo, forKey: "myfoo")
        try archiver.encode(state.bar, forKey: "mybar")
        try archiver.encode(state.runs, forKey: "runs")
        try archiver.finish(to: url)
    }

    /// Gives a file that cannot be read another name, one that no file has.
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
