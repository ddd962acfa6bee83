import Foundation
import Testing

@testable import KeyedArchive

@Suite("Views of graphs that are broken, too large, or whose memory is used by others")
struct GraphViewAbuseTests {
    /// The body of a message with its shapes, and a decoder of it.
    private struct Body {
        let bytes: [UInt8]
        let shapes: [Shape]

        init(_ write: (ObjectEncoder) throws -> Void) throws {
            let encoder = ObjectEncoder()
            try write(encoder)
            try encoder.finish()
            var bytes = [UInt8](repeating: 0, count: encoder.byteCount)
            bytes.withUnsafeMutableBytes { encoder.copyBytes(to: $0) }
            self.bytes = bytes
            shapes = encoder.shapes
        }

        func decoder(_ bytes: [UInt8], limits: ArchiveLimits = ArchiveLimits()) throws -> ObjectDecoder {
            let owner = ArchiveBytes(bytes)
            return try ObjectDecoder(
                bytes: owner.bytes, owner: owner, shapes: shapes, limits: limits, handsOutSlices: false)
        }
    }

    /// Reads all there is to read; every value may throw.
    private func readAll(_ view: GraphView<Node>, steps: inout Int) {
        steps -= 1
        guard steps > 0 else { return }
        for key in ["value", "next", "previous", "watched", "other"] {
            _ = try? view[key, as: Int.self]
            _ = try? view[key, as: String.self]
            _ = try? view[key, as: GraphView<Point>.self]["x", as: Int.self]
            if let list = try? view[key, as: GraphList<Node>.self] {
                for node in list { readAll(node, steps: &steps) }
            }
            if let node = try? view[key, as: GraphView<Node>?.self] { readAll(node, steps: &steps) }
        }
        _ = try? view.decoded()
    }

    @Test("Each changed byte is refused when the view is made, or read without a trap")
    func changedBytes() throws {
        let list = Node.list(4)
        list.watched = list.next
        let body = try Body { coder in
            try coder.encodeTop(list)
            try coder.encodeTop(Everything())
            try coder.encodeTop((0..<3).map { Foo("é\($0)", 100 * $0) })
        }
        var refused = 0
        var made = 0
        for position in 0..<body.bytes.count {
            for change: UInt8 in [0x01, 0x41, 0x80] {
                var bytes = body.bytes
                bytes[position] ^= change
                guard let decoder = try? body.decoder(bytes) else { continue }
                guard let view = try? decoder.decodeTop(GraphView<Node>.self) else {
                    refused += 1
                    continue
                }
                made += 1
                var steps = 5
                readAll(view, steps: &steps)
                _ = try? decoder.decodeTop(GraphView<Everything>.self).decoded()
                _ = try? decoder.decodeTop(GraphView<[Foo]>.self).decoded()
            }
        }
        #expect(refused > 50 && made > 200)
    }

    @Test("What is decoded can be viewed")
    func agreementInGraphViewAbuse() throws {
        let body = try Body { try $0.encodeTop(Bar((0..<3).map { Foo("f\($0)", 200 * $0) })) }
        var both = 0
        for position in 0..<body.bytes.count {
            for change in UInt8(1)...255 {
                var bytes = body.bytes
                bytes[position] ^= change
                guard let decoder = try? body.decoder(bytes), let bar = try? decoder.decodeTop(Bar.self) else {
                    continue
                }
                both += 1
                guard let view = try? body.decoder(bytes).decodeTop(GraphView<Bar>.self) else {
                    // A view checks all of the archive, also what nothing refers to.
                    continue
                }
                let list = try view["foos", as: GraphList<Foo>.self]
                #expect(try list.map { try $0["age", as: Int.self] } == bar.foos.map(\.age))
                #expect(try list.map { try $0["name", as: String.self] } == bar.foos.map(\.name))
            }
        }
        #expect(both > 100)
    }

    @Test("A fault anywhere in the graph is found before the view is there")
    func faultFarAway() throws {
        let body = try Body { try $0.encodeTop(Bar((0..<100).map { Foo("f\($0)", $0) })) }
        var bytes = body.bytes
        // The age of the last object becomes a reference to an object that is not there.
        bytes[bytes.count - 1] = 0xFF
        #expect(throws: ArchiveError.self) { try body.decoder(bytes).decodeTop(GraphView<Bar>.self) }
    }

    @Test("Breaches of limits are found before the view is there")
    func limitsInGraphViewAbuse() throws {
        func expectLimit(
            _ change: (inout ArchiveLimits) -> Void, _ value: some Codable,
            _ location: SourceLocation = #_sourceLocation
        ) throws {
            let body = try Body { try $0.encodeTop(value) }
            var limits = ArchiveLimits()
            _ = try body.decoder(body.bytes, limits: limits).decodeTop(GraphView<Bar>.self)
            change(&limits)
            do {
                _ = try body.decoder(body.bytes, limits: limits).decodeTop(GraphView<Bar>.self)
                Issue.record("nothing was thrown", sourceLocation: location)
            } catch {
                #expect((error as? ArchiveError)?.code == .limit, "\(error)", sourceLocation: location)
            }
        }
        let bar = Bar((0..<20).map { Foo(String(repeating: "x", count: 100), $0) })
        try expectLimit({ $0.objects = 20 }, bar)
        try expectLimit({ $0.collection = 19 }, bar)
        try expectLimit({ $0.string = 99 }, bar)
        try expectLimit({ $0.shapes = 1 }, bar)
        try expectLimit({ $0.bytes = 500 }, bar)
    }

    @Test("Values nested too deep are found before the view is there")
    func depthInGraphViewAbuse() throws {
        final class Deep: ObjectCoding {
            var list: PropertyList
            init(_ levels: Int) { list = (0..<levels).reduce(.bool(true)) { list, _ in .array([list]) } }
            init(coder: ObjectDecoder) throws { list = try coder.decode(PropertyList.self, forKey: "list") }
            func encode(with coder: ObjectEncoder) throws { try coder.encode(list, forKey: "list") }
        }
        let body = try Body { try $0.encodeTop(Deep(60)) }
        var limits = ArchiveLimits()
        _ = try body.decoder(body.bytes, limits: limits).decodeTop(GraphView<Deep>.self)
        limits.depth = 8
        #expect(throws: ArchiveError.self) {
            try body.decoder(body.bytes, limits: limits).decodeTop(GraphView<Deep>.self)
        }
    }

    @Test("A chain of any length can be viewed, and is refused when it is decoded")
    func chainInGraphViewAbuse() throws {
        let list = Node.list(200)
        let body = try Body { try $0.encodeTop(list) }
        var limits = ArchiveLimits()
        limits.chain = 100
        let view = try body.decoder(body.bytes, limits: limits).decodeTop(GraphView<Node>.self)
        var node: GraphView<Node>? = view
        var count = 0
        while let next = node {
            count += 1
            node = try next["next"]
        }
        #expect(count == 200)
        #expect(throws: ArchiveError.self) { try view.decoded() }
        list.dismantle()
    }

    // MARK: Memory

    /// Memory that is filled with other bytes when it is given up.
    private final class Memory {
        let bytes: UnsafeMutableRawBufferPointer
        init(_ content: [UInt8]) {
            bytes = .allocate(byteCount: content.count, alignment: 16)
            bytes.copyBytes(from: content)
        }
        deinit {
            bytes.initializeMemory(as: UInt8.self, repeating: 0xFF)
            bytes.deallocate()
        }
    }

    @Test("A view of bytes that nobody keeps is of a copy")
    func copied() throws {
        let body = try Body { try $0.encodeTop(Bar([Foo("a", 1), Foo("b", 2)])) }
        var memory: Memory? = Memory(body.bytes)
        let decoder = ObjectDecoder()
        try decoder.load(
            bytes: UnsafeRawBufferPointer(memory!.bytes), owner: nil, shapes: body.shapes, externals: [],
            handsOutSlices: false)
        let view = try decoder.decodeTop(GraphView<Bar>.self)
        decoder.unload()
        memory = nil
        #expect(try view["foos", as: GraphList<Foo>.self].map { try $0["name", as: String.self] } == ["a", "b"])
    }

    @Test("The memory is kept until the last view of it is freed")
    func keptInGraphViewAbuse() throws {
        let body = try Body { try $0.encodeTop(Bar([Foo("a", 1), Foo("b", 2)])) }
        weak var kept: Memory?
        var foo: GraphView<Foo>?
        do {
            let memory = Memory(body.bytes)
            kept = memory
            let decoder = try ObjectDecoder(
                bytes: UnsafeRawBufferPointer(memory.bytes), owner: memory, shapes: body.shapes)
            let view = try decoder.decodeTop(GraphView<Bar>.self)
            foo = try view["foos", as: GraphList<Foo>.self].first { try $0["age", as: Int.self] == 2 }
            decoder.unload()
        }
        #expect(kept != nil)
        #expect(try foo?["name", as: String.self] == "b")
        foo = nil
        #expect(kept == nil)
    }

    @Test("Data that shares the message's memory and is changed does not change the view", arguments: [true, false])
    func slicesInGraphViewAbuse(dataFirst: Bool) throws {
        struct Large: Codable { var data: Data }
        let content = Data(repeating: 7, count: ObjectDecoder.smallestSlice)
        let body = try Body { coder in
            try coder.encodeTop(dataFirst ? content : Data())
            try coder.encodeTop(Large(data: content))
            try coder.encodeTop(dataFirst ? Data() : content)
        }
        var data: Data
        let view: GraphView<Large>
        do {
            let memory = Memory(body.bytes)
            let decoder = try ObjectDecoder(
                bytes: UnsafeRawBufferPointer(memory.bytes), owner: memory, shapes: body.shapes)
            let first = try decoder.decodeTop(Data.self)
            view = try decoder.decodeTop(GraphView<Large>.self)
            let last = try decoder.decodeTop(Data.self)
            data = dataFirst ? first : last
            decoder.unload()
        }
        data.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 1) }
        #expect(data.allSatisfy { $0 == 1 })
        #expect(try view["data"] == content)
    }

    /// Counts what views keep, with a bound.
    private final class Keeper: MessageKeeper {
        let limit: Int
        weak var receipt: AnyObject?
        init(limit: Int) { self.limit = limit }
        func keep(bytes count: Int) throws -> AnyObject {
            guard count <= limit else { throw CancellationError() }
            let made = NSObject()
            receipt = made
            return made
        }
    }

    @Test("What a view keeps is counted until it is freed, and refused beyond the bound")
    func counted() throws {
        let body = try Body { try $0.encodeTop(Foo("f", 1)) }
        let keeper = Keeper(limit: body.bytes.count)
        var view: GraphView<Foo>?
        do {
            let decoder = try body.decoder(body.bytes)
            decoder.codingOwner = keeper
            view = try decoder.decodeTop(GraphView<Foo>.self)
        }
        #expect(keeper.receipt != nil)
        #expect(try view?["age", as: Int.self] == 1)
        view = nil
        #expect(keeper.receipt == nil)
        let narrow = try body.decoder(body.bytes)
        narrow.codingOwner = Keeper(limit: body.bytes.count - 1)
        #expect(throws: ArchiveError.self) { try narrow.decodeTop(GraphView<Foo>.self) }
    }
}
