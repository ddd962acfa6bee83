// swift-format-ignore-file
// It is laid out as CopyAndReference.md shows it.

import DistantObjects
import FooBar
import Foundation
import Synchronization

/// The code of CopyAndReference.md.
enum CopyAndReferenceCode {
    // CopyAndReference.md: both
    struct DocumentInterface: Interface {
        let title = Signature<String>("title")
    }

    struct LibraryInterface: Interface {
        let lend = Signature<Remote<DocumentInterface>>("lend")
        let photocopy = Signature<ByCopy<Document>>("photocopy")
        let isOurs = Signature<Bool, Remote<DocumentInterface>>("isOurs")
    }

    final class Document: Vendable, Implements, ObjectCoding {
        typealias I = DocumentInterface
        let title: String

        static var messages: MessageTable<Document> {
            Message(\I.title, Document.currentTitle)
        }

        init(title: String) { self.title = title }
        init(coder: ObjectDecoder) throws { title = try coder.decode(String.self, forKey: "title") }
        func encode(with coder: ObjectEncoder) throws { try coder.encode(title, forKey: "title") }
        func currentTitle() -> String { title }
    }

    final class Library: Vendable, Implements {
        typealias I = LibraryInterface
        private let document = Document(title: "Atlas")

        static var messages: MessageTable<Library> {
            Message(\I.lend, Library.lend)
            Message(\I.photocopy, Library.photocopy)
            Message(\I.isOurs, Library.isOurs)
        }

        func lend() -> Document { document }
        func photocopy() -> ByCopy<Document> { ByCopy(document) }
        func isOurs(_ other: Remote<DocumentInterface>) -> Bool { other.local() === document }
    }
    // end

    typealias Use = (title: String, copy: Document, isOurs: Bool)

    static func use(_ library: Remote<LibraryInterface>) async throws -> Use {
        // CopyAndReference.md: caller
        let lent = try await library.lend()
        let title = try await lent.title()
        let copy = try await library.photocopy().object
        let isOurs = try await library.isOurs(lent)
        // end
        return (title, copy, isOurs)
    }

    static func useDynamically(_ library: Remote<LibraryInterface>) async throws -> Use {
        // CopyAndReference.md: dynamic caller
        let lent: DistantObject = try await library.object.lend()
        let title: String = try await lent.title()
        let copy: Document = try await library.object.photocopy()
        let isOurs: Bool = try await library.object.isOurs(lent)
        // end
        return (title, copy, isOurs)
    }

    // CopyAndReference.md: view
    struct CounterInterface: Interface {
        let sum = Signature<Int, GraphView<Bar>>("sum")
    }

    final class Counter: Vendable, Implements {
        typealias I = CounterInterface

        static var messages: MessageTable<Counter> {
            Message(\I.sum, Counter.sum)
        }

        func sum(_ bar: GraphView<Bar>) throws -> Int {
            var sum = 0
            for foo in try bar["foos", as: GraphList<Foo>.self] { sum += try foo["age"] }
            return sum
        }
    }
    // end

    static func count(
        _ counter: Remote<CounterInterface>, _ bar: Bar, _ other: sending Bar
    ) async throws -> (Int, Int) {
        // CopyAndReference.md: viewCaller
        let sum = try await counter.sum(GraphView(other))
        let same: Int = try await counter.object.sum(bar)
        // end
        return (sum, same)
    }

    // CopyAndReference.md: replacement
    final class Account: Vendable {
        let balance: Int

        static var messages: MessageTable<Account> {
            Message("balance", Account.currentBalance)
        }

        init(balance: Int) { self.balance = balance }
        func currentBalance() -> Int { balance }

        func replacementObject(for coder: PortCoder) throws -> PortReplacement? {
            .reference(View(account: self))
        }

        final class View: Vendable {
            private let account: Account

            static var messages: MessageTable<View> {
                Message("isCovered", View.isCovered)
            }

            init(account: Account) { self.account = account }
            func isCovered(_ amount: Int) -> Bool { amount <= account.balance }
        }
    }
    // end

    static func show(
        _ width: Int, _ height: Int, on screen: Remote<ScreenInterface>, over connection: Connection
    ) async throws -> Int {
        // CopyAndReference.md: fill
        let image = try connection.withBlob(byteCount: width * height) { memory in
            for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: index) }
        }
        let brightness = try await screen.show(image)
        // end
        return brightness
    }

    struct ScreenInterface: Interface {
        let show = Signature<Int, SharedBytes>("show")
        let keep = Signature<Void, SharedBytes>("keep")
    }

    final class Screen: Vendable, Implements {
        typealias I = ScreenInterface
        let last = Mutex(Data())

        static var messages: MessageTable<Screen> {
            Message(\I.show, Screen.show)
            Message(\I.keep, Screen.keep)
        }

        // CopyAndReference.md: show
        func show(_ image: SharedBytes) -> Int {
            image.withUnsafeBytes { bytes in bytes.reduce(0) { $0 + Int($1) } } / max(image.count, 1)
        }
        // end

        private let pixels: [UInt8] = []

        // CopyAndReference.md: make
        func thumbnail() -> SharedBytes { SharedBytes(pixels) }
        func page(_ path: String) throws -> SharedBytes { try SharedBytes(mappingFile: path) }
        // end

        // CopyAndReference.md: keep
        func keep(_ image: SharedBytes) { last.withLock { $0 = Data(image) } }
        // end
    }

    /// Returns the account.
    final class Bank: Vendable {
        static var messages: MessageTable<Bank> {
            Message("account", Bank.account)
        }

        func account() -> Account { Account(balance: 100) }
    }
}
