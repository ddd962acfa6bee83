import DistantObjects
import Foundation
import KeyedArchive
import TestSupport
import Testing

/// Limits of the archive in a message, for careless and for hostile senders.
@Suite("Limits of a message's archive", .serialized, .bounded())
struct ArchiveLimitTests {
    /// Accepts and returns values of any depth and with any number of shapes.
    final class Keeper: Vendable {
        static var messages: MessageTable<Keeper> {
            Message("list", Keeper.list)
            Message("deep", Keeper.deep)
            Message("foo", Keeper.foo)
            Message("kinds", Keeper.kinds)
            Message("many", Keeper.many)
            Message("echo", Keeper.echo)
            Message("tree", Keeper.tree)
        }

        func list(_ list: PropertyList) -> Int { 1 }
        func deep(_ levels: Int) -> PropertyList { nest(levels) }
        func foo(_ foo: Foo) -> Int { foo.age }
        func kinds(_ kinds: [Kind]) -> Int { kinds.count }
        func many(_ count: Int) -> [Kind] { Kind.different(count) }
        func echo(_ number: Int) -> Int { number }
        func tree(_ tree: Tree) -> Tree { .more(tree) }
    }

    /// A value that contains itself.
    indirect enum Tree: Codable, Equatable, Sendable {
        case end
        case more(Tree)

        static func levels(_ count: Int) -> Tree { (1..<count).reduce(.end) { tree, _ in .more(tree) } }
    }

    /// A value whose key, and so its shape, differs for each name.
    struct Kind: Codable {
        var key: String

        private struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(key: String) { self.key = key }

        init(from decoder: any Decoder) throws {
            key = try decoder.container(keyedBy: Key.self).allKeys.first?.stringValue ?? ""
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: Key(stringValue: key))
        }

        static func different(_ count: Int) -> [Kind] { (0..<count).map { Kind(key: "k\($0)") } }
    }

    /// Different types with the same content, because an encoder caches a limited number of shapes for a type.
    struct Tagged<Tag>: Codable {
        var kind: Kind
        init(kind: Kind) { self.kind = kind }
        init(from decoder: any Decoder) throws { kind = try Kind(from: decoder) }
        func encode(to encoder: any Encoder) throws { try kind.encode(to: encoder) }
    }

    /// Two connected ends with separate archive limits.
    ///
    /// The second one vends a `Keeper`.
    private static func pair(
        client: (inout ArchiveLimits) -> Void = { _ in }, server: (inout ArchiveLimits) -> Void = { _ in }
    ) async throws -> (client: Connection, server: Connection, keeper: DistantObject) {
        var (here, there) = (Connection.Configuration.patient, Connection.Configuration.patient)
        client(&here.limits.archive)
        server(&there.limits.archive)
        let (first, second) = try await Connection.pair(over: .socketpair, first: here, second: there)
        second.vend(Keeper())
        return (first, second, try await first.root)
    }

    /// Runs the body on a thread with a stack of 512 KiB.
    private static func onSmallStack(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try body() }) }
            thread.stackSize = (512 << 10) * (Sanitizer.isAddress ? 8 : 1)
            thread.start()
        }
    }

    /// Checks that the connection still works, then closes the first end in order.
    private static func close(_ pair: (client: Connection, server: Connection, keeper: DistantObject)) async throws {
        let back: Int = try await pair.keeper.echo(3)
        #expect(back == 3)
        await pair.client.close()
        _ = await pair.server.ended
        #expect(pair.client.statistics.isAtRest && pair.server.statistics.isAtRest)
    }

    /// Checks that the sender's encoder reports an exceeded limit.
    private static func expectLimit(
        location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("nothing was thrown", sourceLocation: location)
        } catch {
            let failure = error as? ConnectionError
            #expect(failure?.code == .tooLarge, "\(error)", sourceLocation: location)
            #expect((failure?.underlying as? ArchiveError)?.code == .limit, "\(error)", sourceLocation: location)
        }
    }

    // MARK: A careless peer

    @Test("An argument nested deeper than the receiver allows is refused, and the connection goes on")
    func depthInArchiveLimit() async throws {
        let pair = try await Self.pair(server: { $0.depth = 8 })
        let inside: Int = try await pair.keeper.list(nest(8))
        #expect(inside == 1)
        // A reader has some more room, for values in objects in values.
        await expectCode(.wrongArgument) { let _: Int = try await pair.keeper.list(nest(60)) }
        try await Self.close(pair)
    }

    @Test("A result nested deeper than the caller allows fails only that call")
    func depthOfResult() async throws {
        let pair = try await Self.pair(client: { $0.depth = 8 })
        let _: PropertyList = try await pair.keeper.deep(8)
        await expectCode(.wrongResult) { let _: PropertyList = try await pair.keeper.deep(60) }
        try await Self.close(pair)
    }

    @Test("Arguments and results nested deeper than the sender allows are not sent")
    func depthOfSender() async throws {
        let pair = try await Self.pair()
        let depth = ArchiveLimits().depth
        let _: Int = try await pair.keeper.list(nest(depth))
        let frames = pair.client.statistics.framesOut
        await Self.expectLimit { let _: Int = try await pair.keeper.list(nest(depth + 1)) }
        #expect(pair.client.statistics.framesOut == frames)
        let _: PropertyList = try await pair.keeper.deep(depth)
        do {
            let _: PropertyList = try await pair.keeper.deep(depth + 1)
            Issue.record("nothing was thrown")
        } catch let error as ConnectionError {
            #expect(error.code == .tooLarge)
            #expect(error.message.contains("Connection.Limits.archive"), "\(error)")
        }
        try await Self.close(pair)
    }

    @Test(
        "512 values in one another pass from and to a thread with a small stack; one more is not sent, or not answered")
    func deepValuesInArchiveLimit() async throws {
        let pair = try await Self.pair()
        let keeper = pair.keeper
        try await Self.onSmallStack {
            let back: Tree = try keeper.tree.blocking(Tree.levels(511))
            #expect(back == .levels(512))
            let refused = #expect(throws: ConnectionError.self) {
                let _: Tree = try keeper.tree.blocking(Tree.levels(513))
            }
            #expect(refused?.code == .tooLarge)
            let unanswered = #expect(throws: ConnectionError.self) {
                let _: Tree = try keeper.tree.blocking(Tree.levels(512))
            }
            #expect(unanswered?.code == .tooLarge)
        }
        try await Self.close(pair)
    }

    @Test("An argument with more shapes than the receiver allows is refused, and the connection goes on")
    func shapesInArchiveLimit() async throws {
        let pair = try await Self.pair(server: { $0.shapes = 5 })
        let inside: Int = try await pair.keeper.kinds(Kind.different(5))
        #expect(inside == 5)
        await expectCode(.wrongArgument) { let _: Int = try await pair.keeper.kinds(Kind.different(6)) }
        // The connection knows those shapes now, and a message with a few of them still works.
        let again: Int = try await pair.keeper.kinds(Array(Kind.different(6)[1...]))
        #expect(again == 5)
        try await Self.close(pair)
    }

    @Test("A result with more shapes than the caller allows fails only that call")
    func shapesOfResult() async throws {
        let pair = try await Self.pair(client: { $0.shapes = 5 })
        let inside: [Kind] = try await pair.keeper.many(5)
        #expect(inside.map(\.key) == ["k0", "k1", "k2", "k3", "k4"])
        await expectCode(.wrongResult) { let _: [Kind] = try await pair.keeper.many(6) }
        try await Self.close(pair)
    }

    @Test("A message with more shapes than the sender or the protocol allows is not sent")
    func shapesOfSender() async throws {
        let few = try await Self.pair(client: { $0.shapes = 5 })
        let _: Int = try await few.keeper.kinds(Kind.different(5))
        let frames = few.client.statistics.framesOut
        await Self.expectLimit { let _: Int = try await few.keeper.kinds(Kind.different(6)) }
        #expect(few.client.statistics.framesOut == frames)
        try await Self.close(few)

        // The tables of a message have to fit in its first frame.
        let wide = try await Self.pair()
        let long = String(repeating: "k", count: 3_000)
        let before = wide.client.statistics.framesOut
        await expectCode(.tooLarge) {
            let _: Int = try await wide.keeper.kinds((0..<30).map { Tagged<String>(kind: Kind(key: "\(long)\($0)")) })
        }
        #expect(wide.client.statistics.framesOut == before)
        try await Self.close(wide)
    }

    // MARK: A hostile peer

    /// A raw peer of a connection that vends a `Keeper` in slot 1.
    private static func hostile(_ limits: ArchiveLimits = .init()) async throws -> (RawPeer, Connection) {
        let (raw, ours) = try RawPeerConnection.ends(.socketpair)
        var configuration = Connection.Configuration.patient
        configuration.limits.archive = limits
        raw.send(1, RawPeer.hello)
        let connection = try await RawPeerConnection.adopt(ours, isInitiator: false, configuration)
        connection.vend(Keeper())
        raw.send(2, RawPeer.call(body: [0, 1, 0x80]))
        let kinds = try await onThread { [raw.read()?.kind, raw.read()?.kind] }
        #expect(kinds == [1, 3])
        return (raw, connection)
    }

    /// An archive's body of objects, each a shape and its values, and one value.
    private static func body(_ value: [UInt8], objects: [[UInt8]] = []) -> [UInt8] {
        RawPeer.number(UInt64(objects.count)) + RawPeer.number(UInt64(value.count))
            + objects.flatMap { RawPeer.number(UInt64($0.count)) } + value + objects.flatMap { $0 }
    }

    /// Nested lists of one element.
    private static func lists(_ depth: Int) -> [UInt8] { (0..<depth).flatMap { _ in [0xCF, 1] as [UInt8] } + [5] }

    /// A shape of kind object or record, in as many bytes as it takes.
    private static func shape(_ kind: UInt8, _ name: String, _ keys: [String]) -> [UInt8] {
        // Texts of fewer than 64 bytes are one value with their length in the tag.
        let text: (String) -> [UInt8] = { [0x80 | UInt8($0.utf8.count)] + Array($0.utf8) }
        let definition = [kind] + text(name) + [0] + RawPeer.number(UInt64(keys.count)) + keys.flatMap(text)
        return RawPeer.number(UInt64(definition.count)) + definition
    }

    /// Sends a call, and returns the status of its answer; nil if the connection was cut.
    private static func status(_ raw: RawPeer, _ call: [UInt8]) async throws -> UInt8? {
        raw.send(2, call)
        let frame = try await onThread { () -> RawPeer.Frame? in
            // Credit comes in between.
            while let frame = raw.read() { if frame.kind != 7 { return frame } }
            return nil
        }
        return frame?.kind == 3 ? frame?.flags : nil
    }

    private static func call(_ name: String, shapes: [UInt8] = [0], body: [UInt8]) -> [UInt8] {
        RawPeer.call(slot: 1, name: [1] + RawPeer.text(name), shapes: shapes, body: body)
    }

    @Test("Values nested up to the limit are read, and deeper ones are refused at any depth")
    func hostileDepth() async throws {
        let (raw, connection) = try await Self.hostile()
        let depth = ArchiveLimits().depth
        for (levels, expected) in [(1, 0), (depth, 0), (depth + 100, 2), (20_000, 2), (depth, 0)] {
            let status = try await Self.status(raw, Self.call("list", body: Self.body(Self.lists(levels))))
            #expect(status == UInt8(expected), "\(levels) levels")
        }
        raw.close()
        _ = await connection.ended
        #expect(connection.statistics.isAtRest)
    }

    @Test("Deeply nested values under an unused key are skipped")
    func hostileDepthUnread() async throws {
        let (raw, connection) = try await Self.hostile()
        let shapes = [1, 0] + Self.shape(1, "Foo", ["name", "more", "age"])
        let foo: [UInt8] = [0, 0, 0x81, 0x78] + Self.lists(20_000) + [7]
        let status = try await Self.status(
            raw, Self.call("foo", shapes: shapes, body: Self.body([0xD4, 0], objects: [foo])))
        #expect(status == 0)
        raw.close()
        _ = await connection.ended
        #expect(connection.statistics.isAtRest)
    }

    @Test("A message may have the maximum number of shapes; one more ends the connection")
    func hostileShapes() async throws {
        let (raw, connection) = try await Self.hostile()
        let one = [0] + Self.shape(0, "Kind", ["k"])
        // All others refer to the first by its number.
        func table(_ count: Int) -> [UInt8] {
            RawPeer.number(UInt64(count)) + one + [UInt8](repeating: 2, count: count - 1)
        }
        let body = Self.body([0xCF, 1, 0xD3, 0, 0, 1])
        #expect(try await Self.status(raw, Self.call("kinds", shapes: table(4_096), body: body)) == 0)
        raw.send(2, Self.call("kinds", shapes: table(4_097), body: body))
        try await expectOverLimit(raw, connection)
    }

    @Test("A message with too many shapes is refused, but its definitions are still entered")
    func hostileShapesOverOwnBound() async throws {
        var limits = ArchiveLimits()
        limits.shapes = 3
        let (raw, connection) = try await Self.hostile(limits)
        let definitions = (0..<4).flatMap { [0] + Self.shape(0, "Kind", ["k\($0)"]) }
        let body = Self.body([0xCF, 1, 0xD3, 0, 0, 1])
        #expect(try await Self.status(raw, Self.call("kinds", shapes: [4] + definitions, body: body)) == 2)
        #expect(try await Self.status(raw, Self.call("kinds", shapes: [3, 2, 3, 5], body: body)) == 0)
        raw.close()
        _ = await connection.ended
        #expect(connection.statistics.isAtRest)
    }

    @Test("Interning more shapes than a connection keeps ends it")
    func hostileInterning() async throws {
        let (raw, connection) = try await Self.hostile()
        let body = Self.body([0xCF, 0])
        func table(_ numbers: Range<Int>) -> [UInt8] {
            RawPeer.number(UInt64(numbers.count)) + numbers.flatMap { [0] + Self.shape(0, "K", ["\($0)"]) }
        }
        for round in 0..<4 {
            let shapes = table(round * 1_024..<(round + 1) * 1_024)
            #expect(try await Self.status(raw, Self.call("kinds", shapes: shapes, body: body)) == 0)
        }
        // These are not interned: there is room for only that many.
        let inline = [1, 1] + Self.shape(0, "K", ["more"])
        #expect(try await Self.status(raw, Self.call("kinds", shapes: inline, body: body)) == 0)
        raw.send(2, Self.call("kinds", shapes: table(4_096..<4_097), body: body))
        try await expectOverLimit(raw, connection)
    }

    @Test("Interning shape definitions of more bytes than a connection keeps ends it")
    func hostileDefinitions() async throws {
        let (raw, connection) = try await Self.hostile()
        // A long text has its length in front, as a number of two or more bytes.
        func long(_ number: Int) -> [UInt8] {
            let text = Array("\(number)".utf8) + [UInt8](repeating: 0x6B, count: 65_536)
            let definition = [0, 0x81, 0x4B, 0, 1, 0xC9] + RawPeer.number(UInt64(text.count)) + text
            return [1, 0] + RawPeer.number(UInt64(definition.count)) + definition
        }
        for number in 0..<63 {
            #expect(
                try await Self.status(raw, Self.call("kinds", shapes: long(number), body: Self.body([0xCF, 0]))) == 0)
        }
        raw.send(2, Self.call("kinds", shapes: long(63), body: Self.body([0xCF, 0])))
        try await expectOverLimit(raw, connection)
    }

    @Test("A sender with too many or too long shapes to intern writes them out each time")
    func longShapes() async throws {
        let pair = try await Self.pair()
        func send<T>(_ type: T.Type) async throws {
            for number in 0..<30 {
                let kind = Kind(key: "\(number)" + String(repeating: "k", count: 40_000))
                for _ in 0..<2 {
                    let count: Int = try await pair.keeper.kinds([Tagged<T>(kind: kind)])
                    #expect(count == 1)
                }
            }
        }
        // An encoder caches a limited number of shapes for a type.
        try await send(Int8.self)
        try await send(Int16.self)
        try await send(Int32.self)
        try await send(Int64.self)
        try await Self.close(pair)
    }

    /// Waits for the Goodbye with the reason, and for the end of the connection.
    private func expectOverLimit(
        _ raw: RawPeer, _ connection: Connection, location: SourceLocation = #_sourceLocation
    ) async throws {
        let frames = try await onThread { raw.readToEnd() }
        let goodbye = try #require(frames.last { $0.kind == 16 }, sourceLocation: location)
        #expect(goodbye.body.dropFirst().first == 6, "\(goodbye.body)", sourceLocation: location)
        guard case .protocolViolation = await connection.ended else {
            Issue.record("the end was no violation", sourceLocation: location)
            return
        }
        #expect(connection.statistics.isAtRest, sourceLocation: location)
    }
}

/// Nested arrays of one element.
private func nest(_ levels: Int) -> PropertyList {
    (0..<levels).reduce(.integer(5)) { inner, _ in .array([inner]) }
}
