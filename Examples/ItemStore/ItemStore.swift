import ExampleConsole
import Foundation

/// A list of items with images.
///
/// The command line adds, shows and removes items.
@main
struct ItemStore {
    static func main() {
        Console.reserveDescriptors()
        do {
            try run(Command(Array(CommandLine.arguments.dropFirst())))
            try Console.checkOutput()
        } catch let error as UsageError {
            Console.complain("ItemStore", error)
            exit(2)
        } catch {
            log("\(error)")
            exit(1)
        }
    }

    /// An error with a message for the user.
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static func log(_ sentence: String) {
        Console.complain("ItemStore", sentence)
    }

    private static func run(_ command: Command) throws {
        if case .help = command.action { return Console.say(Command.usage) }
        let store = try Store(
            folder: URL(fileURLWithPath: command.folder), isForChanging: command.action.isChange, log: log)
        switch command.action {
        case .help: break
        case .list: list(store)
        case .add(let name, let serialNumber, let value, let image):
            let data = try image.map(read)
            let item = store.create(name: name, serialNumber: serialNumber, valueInDollars: value)
            try add(item, data, to: store)
            Console.say("added \(item.itemKey): \(item)")
        case .show(let key):
            let item = try find(key, store)
            Console.say("\(item)")
            if let image = store.images.image(forKey: key) { Console.say("image: \(image.count) bytes") }
        case .remove(let key):
            let item = try find(key, store)
            try remove(item, from: store)
            Console.say("removed \(item.itemName)")
        }
    }

    private static func list(_ store: Store) {
        for item in store.all {
            let image = store.images.hasImage(forKey: item.itemKey) ? ", with an image" : ""
            Console.say("\(item.itemKey): \(item)\(image)")
        }
        // The sum of a few large values overflows an Int.
        let sum = store.all.reduce(Int128(0)) { $0 + Int128($1.valueInDollars) }
        Console.say("\(store.all.count) \(store.all.count == 1 ? "item" : "items"), $\(sum) in all")
    }

    private static func read(_ path: String) throws -> Data {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
            throw Failure(description: "the image \(path) cannot be read")
        }
        return data
    }

    /// Saves an item and its image, or neither of them.
    ///
    /// The image is saved first, so that no item is added without its image.
    private static func add(_ item: Item, _ image: Data?, to store: Store) throws {
        guard let image else { return try save(store) }
        do { try store.images.addPendingImage(image, forKey: item.itemKey) } catch {
            throw Failure(description: "the image is not saved: \(reason(error))")
        }
        try save(store, settling: item, isListed: true)
    }

    /// Removes an item and its image, or neither of them.
    private static func remove(_ item: Item, from store: Store) throws {
        store.remove(item)
        do { try store.images.makePending(item.itemKey) } catch {
            throw Failure(description: "the image \(item.itemKey) is not removed: \(reason(error))")
        }
        try save(store, settling: item, isListed: false)
    }

    /// Saves the list, and keeps or removes an item's pending image, as the saved list says.
    private static func save(_ store: Store, settling item: Item, isListed: Bool) throws {
        let saved = Result { try save(store) }
        let isDone = if case .success = saved { true } else { false }
        do { try store.images.settle(item.itemKey, isListed: isListed == isDone) } catch {
            // The next change handles it.
            throw Failure(description: "the image \(item.itemKey) is left as it is: \(reason(error))")
        }
        try saved.get()
    }

    /// The text of an error, from the system if it has one.
    private static func reason(_ error: any Error) -> String {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
        return (underlying ?? error).localizedDescription
    }

    private static func find(_ key: String, _ store: Store) throws -> Item {
        guard let item = store.item(key: key) else { throw Failure(description: "there is no item \(key)") }
        return item
    }

    private static func save(_ store: Store) throws {
        if let reason = store.saveChanges() { throw Failure(description: "the items are not saved: \(reason)") }
    }
}
