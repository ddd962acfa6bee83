import Foundation

/// A list of items with images that is added to and removed from by the words of the command line.
@main
struct ItemStore {
    static func main() {
        do {
            try run(Command(Array(CommandLine.arguments.dropFirst())))
            // What is printed is kept back until now.
            guard fflush(nil) == 0 else { throw Failure(description: "standard output cannot be written") }
        } catch let error as UsageError {
            log("\(error)\n\n\(Command.usage)")
            exit(2)
        } catch {
            log("\(error)")
            exit(1)
        }
    }

    /// Something that cannot be done, in a sentence.
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static func log(_ sentence: String) {
        FileHandle.standardError.write(Data("ItemStore: \(sentence)\n".utf8))
    }

    private static func run(_ command: Command) throws {
        if case .help = command.action { return print(Command.usage) }
        let store = try Store(folder: URL(fileURLWithPath: command.folder), log: log)
        switch command.action {
        case .help: break
        case .list: list(store)
        case .add(let name, let serialNumber, let value, let image):
            // What may fail comes first: an item without the image it should have is not added.
            let data = try image.map(read)
            let item = store.create(name: name, serialNumber: serialNumber, valueInDollars: value)
            if let data { try keep(data, of: item, in: store) }
            try save(store)
            print("added \(item.itemKey): \(item)")
        case .show(let key):
            let item = try find(key, store)
            print(item)
            if let image = store.images.image(forKey: key) { print("image: \(image.count) bytes") }
        case .remove(let key):
            let item = try find(key, store)
            store.remove(item)
            try save(store)
            print("removed \(item.itemName)")
        }
    }

    private static func list(_ store: Store) {
        for item in store.all {
            let image = store.images.hasImage(forKey: item.itemKey) ? ", with an image" : ""
            print("\(item.itemKey): \(item)\(image)")
        }
        // A few of the largest values are more than an Int holds.
        let sum = store.all.reduce(Int128(0)) { $0 + Int128($1.valueInDollars) }
        print("\(store.all.count) \(store.all.count == 1 ? "item" : "items"), $\(sum) in all")
    }

    private static func read(_ path: String) throws -> Data {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
            throw Failure(description: "the image \(path) cannot be read")
        }
        return data
    }

    private static func keep(_ image: Data, of item: Item, in store: Store) throws {
        do { try store.images.setImage(image, forKey: item.itemKey) } catch {
            throw Failure(description: "the image is not saved: \(error.localizedDescription)")
        }
    }

    private static func find(_ key: String, _ store: Store) throws -> Item {
        guard let item = store.item(key: key) else { throw Failure(description: "there is no item \(key)") }
        return item
    }

    private static func save(_ store: Store) throws {
        if let reason = store.saveChanges() { throw Failure(description: "the items are not saved: \(reason)") }
    }
}
