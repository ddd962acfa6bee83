import TestSupport
import Testing

@testable import DistantObjects

/// An interface whose signatures are made anew each time they are read.
private struct ComputedInterface: Interface {
    let add = Signature<Int, Book>("add")
    var find: Signature<Book?, String> { Signature("find", since: 2) }
    var lend: Signature<Bool, Book, String> { Signature("lend", since: 3) }
}

private struct TwiceInterface: Interface {
    let find = Signature<Book?, String>("find")
    let search = Signature<Book?, String>("find")
}

private struct LoopInterface: Extending {
    typealias Base = LoopInterface
    let find = Signature<Book?, String>("find")
}

private struct FirstOfTwo: Extending {
    typealias Base = SecondOfTwo
}

private struct SecondOfTwo: Extending {
    typealias Base = FirstOfTwo
}

private struct ListsInterface: Interface {
    let shelves = Signature<[Remote<ShelfInterface>]>("shelves")
    let named = Signature<[String: Remote<ShelfInterface>]>("named")
    let copy = Signature<Foo?, [Foo]>("copy")
}

/// Lists the same messages by name, with the types of its methods.
private final class Lists: Vendable {
    static var messages: MessageTable<Lists> {
        Message("shelves", Lists.shelves)
        Message("named", Lists.named)
        Message("copy", Lists.copy)
    }

    func shelves() -> [Shelf] { [Shelf("poems")] }
    func named() -> [String: Shelf] { ["poems": Shelf("poems")] }
    func copy(_ foos: [ByCopy<Foo>]) -> ByCopy<Foo>? { foos.first }
}

@Suite("What is checked of an interface", .bounded())
struct InterfaceCheckTests {
    @Test("Signatures that are computed properties are not taken for one another")
    func computed() async throws {
        let pair = try await Pair()
        try pair.server.vend(OldLibrary(), as: "library")
        let library = try await pair.client.root(named: "library", as: ComputedInterface.self)
        for _ in 0..<1_000 {
            try #require(!library.lend.isAvailable)
            try #require(library.find.isAvailable)
        }
        await pair.client.close()
    }

    @Test("An interface that extends itself is refused, and the error says so")
    func circle() async throws {
        let error = #expect(throws: ConnectionError.self) {
            try Remote<LoopInterface>(DistantObject(standingFor: OldLibrary()))
        }
        #expect(error?.message.contains("the interface extends itself") == true)
        let other = #expect(throws: ConnectionError.self) {
            try Remote<FirstOfTwo>(DistantObject(standingFor: OldLibrary()))
        }
        #expect(other?.message.contains("the interface extends itself") == true)
    }

    @Test("An interface that has a name twice is refused, and the error says so")
    func twiceInInterfaceCheck() throws {
        let error = #expect(throws: ConnectionError.self) {
            try Remote<TwiceInterface>(DistantObject(standingFor: OldLibrary()))
        }
        #expect(error?.message.contains("the interface has “find” twice") == true)
    }

    @Test("Within lists and optionals objects and copies are what they are on the wire")
    func listsInInterfaceCheck() async throws {
        let pair = try await Pair()
        pair.server.vend(Lists(), as: "lists")
        let lists = try await pair.client.root(named: "lists", as: ListsInterface.self)
        #expect(try await lists.shelves().first?.title() == "poems")
        #expect(try await lists.named()["poems"]?.title() == "poems")
        #expect(try await lists.copy([Foo(name: "Ada", age: 36)])?.age == 36)
        await pair.client.close()
    }

    @Test("The root directory has no class where it is sent back to the peer")
    func rootDirectoryInInterfaceCheck() async throws {
        let root = RawPeer.call(body: [0, 1, 0x80])
        // To the vended object in slot 1: an object of its own, the root directory; and give it back.
        let watch = RawPeer.call(
            question: 1, slot: 1, name: [1] + RawPeer.text("watch"), references: [1, 0, 0, 0], body: [0, 2, 0xD7, 0])
        let watcher = RawPeer.call(
            question: 2, slot: 1, name: [1] + RawPeer.text("watcher"), arguments: 0, body: [0, 0])
        let peer = try await RawPeerConnection(.socketpair, hello: RawPeer.greeting(features: 16), server: true)
        peer.connection.vend(Directory())
        let raw = peer.raw
        let answers = try await onThread {
            [root, watch, watcher].map { call -> [UInt8] in
                raw.send(2, call)
                var frame = raw.read()
                // Credit may come between.
                while let other = frame, other.kind != 3 { frame = raw.read() }
                return frame?.body ?? []
            }
        }
        // The vended object has a class.
        #expect(answers[0].prefix(5) == [0, 1, 2, 1, 0])
        #expect(answers[2].prefix(5) == [2, 1, 1, 0, 0])
        raw.close()
        await peer.expectEnd(RawPeerConnection.isLost)
    }

    @Test("A method's own refusal of another connection is not taken for one of this call")
    func localError() async throws {
        struct Other: Interface {
            let find = Signature<Book?, String>("find", since: 2)
        }
        final class Failing: Vendable, Implements {
            typealias I = Other
            static var messages: MessageTable<Failing> {
                Message(\I.find) { (_: Failing) in
                    { (_: String) throws -> Book? in throw ConnectionError(.noSuchMessage, "of another connection") }
                }
            }
        }
        let remote = Remote(local: Failing())
        let error = await #expect(throws: RemoteError.self) { _ = try await remote.find("x") }
        #expect(error?.code == .noSuchMessage)
    }
}
