import Foundation
import PortTransport
import TestSupport
import Testing

@testable import KeyedArchive

@Suite("Deep graphs of the user's classes")
struct ChainTests {
    @Test("A chain of 10,000 objects needs no more than 512 KiB of stack")
    func longChainInChain() throws {
        try onThread(stack: 512 << 10) {
            let first = Node.list(10_000)
            let bytes = try KeyedArchiver.archive(first)
            first.dismantle()
            let copy = try KeyedUnarchiver.unarchive(Node.self, from: bytes)
            var count = 1
            var node = copy
            while let next = node.next {
                #expect(next.previous === node)
                node = next
                count += 1
            }
            #expect(count == 10_000)
            copy.dismantle()
        }
    }

    @Test("A longer chain is a thrown error, however it is encoded")
    func tooLongInChain() throws {
        final class Link: ObjectCoding {
            var next: Link?
            init() {}
            init(coder: ObjectDecoder) throws { next = try coder.decodeIfPresent(Link.self, forKey: "next") }
            func encode(with coder: ObjectEncoder) throws { try coder.encode(next, forKey: "next") }
        }
        final class LateLink: ObjectCoding {
            var next: LateLink?
            init() {}
            init(coder: ObjectDecoder) throws {
                try coder.decodeReference(LateLink.self, forKey: "next") { self.next = $0 }
            }
            func encode(with coder: ObjectEncoder) throws { try coder.encode(next, forKey: "next") }
        }
        try onThread(stack: 512 << 10) {
            var links = [Link()]
            var late = [LateLink()]
            for _ in 1..<10_002 {
                links.append(Link())
                links[links.count - 1].next = links[links.count - 2]
                late.append(LateLink())
                late[late.count - 1].next = late[late.count - 2]
            }
            // From the end, from the front, and by references that are delivered late.
            for bytes in [try KeyedArchiver.archive(links), try KeyedArchiver.archive(Array(links.reversed()))] {
                let error = #expect(throws: ArchiveError.self) {
                    try KeyedUnarchiver.unarchive([Link].self, from: bytes)
                }
                #expect(error?.code == .limit)
            }
            let one = try KeyedArchiver.archive(links[10_001])
            let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Link.self, from: one) }
            #expect(error?.code == .limit)
            for bytes in [try KeyedArchiver.archive(late), try KeyedArchiver.archive(Array(late.reversed()))] {
                let error = #expect(throws: ArchiveError.self) {
                    try KeyedUnarchiver.unarchive([LateLink].self, from: bytes)
                }
                #expect(error?.code == .limit)
            }
            // Within the limit, all of them succeed.
            links.removeLast()
            late.removeLast()
            #expect(try roundTrip(links).count == 10_001)
            #expect(try roundTrip(Array(late.reversed())).count == 10_001)
            for link in links { link.next = nil }
            for link in late { link.next = nil }
        }
    }

    @Test("In large lists, objects without references and those with some count towards the longest chain alike")
    func longLists() throws {
        final class Link: ObjectCoding {
            let next: Link?
            let others: [Link]
            /// The references on the longest path from here.
            let height: Int

            init(_ next: Link?, _ others: [Link]) {
                self.next = next
                self.others = others
                height = (others + [next].compactMap(\.self)).reduce(0) { max($0, $1.height + 1) }
            }

            init(coder: ObjectDecoder) throws {
                next = try coder.decodeIfPresent(Link.self, forKey: "next")
                others = try coder.decode([Link].self, forKey: "others")
                height = try coder.decode(Int.self, forKey: "height")
            }

            func encode(with coder: ObjectEncoder) throws {
                try coder.encode(next, forKey: "next")
                try coder.encode(others, forKey: "others")
                try coder.encode(height, forKey: "height")
            }
        }
        let seed = TestSeed.next()
        var random = SeededGenerator(seed: seed)
        var refusals = 0
        for _ in 0..<200 {
            var links: [Link] = []
            for _ in 0..<60 {
                let next = Int.random(in: 0..<3, using: &random) == 0 ? links.randomElement(using: &random) : nil
                let isLong = Int.random(in: 0..<10, using: &random) == 0
                let others = isLong ? links.shuffled(using: &random).prefix(12) : []
                links.append(Link(next, Array(others)))
            }
            links.shuffle(using: &random)
            let longest = links.reduce(0) { max($0, $1.height) }
            var limits = ArchiveLimits()
            limits.chain = Int.random(in: 1..<10, using: &random)
            let bytes = try KeyedArchiver.archive(links)
            if longest <= limits.chain {
                let copies = try KeyedUnarchiver.unarchive([Link].self, from: bytes, limits: limits)
                #expect(copies.map(\.height) == links.map(\.height), "seed \(seed)")
                // An object that several refer to is one object.
                let places = Dictionary(uniqueKeysWithValues: zip(links.map(ObjectIdentifier.init), copies))
                for (link, copy) in zip(links, copies) {
                    #expect(copy.next === link.next.flatMap { places[ObjectIdentifier($0)] }, "seed \(seed)")
                    #expect(
                        copy.others.elementsEqual(link.others) { $0 === places[ObjectIdentifier($1)] }, "seed \(seed)")
                }
            } else {
                refusals += 1
                let error = #expect(throws: ArchiveError.self, "seed \(seed)") {
                    try KeyedUnarchiver.unarchive([Link].self, from: bytes, limits: limits)
                }
                #expect(error?.code == .limit, "seed \(seed)")
            }
        }
        #expect((1..<200).contains(refusals), "seed \(seed)")
    }

    @Test("A deep tree of values inside one object is a thrown error")
    func deepValuesInChain() throws {
        indirect enum Nest: Codable {
            case end
            case more(Nest)
        }
        try onThread(stack: 512 << 10) {
            var nest = Nest.end
            for _ in 0..<1000 { nest = .more(nest) }
            let error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(nest) }
            #expect(error?.code == .limit)
        }
    }

    @Test("Values nested deeper than the reader allows are a thrown error on a small stack")
    func deepBytes() throws {
        indirect enum Nest: Codable {
            case end
            case more(Nest)
        }
        var wide = ArchiveLimits()
        wide.depth = 2000
        nonisolated(unsafe) var archives: [[UInt8]] = []
        let limits = wide
        try onThread(stack: 64 << 20) {
            var nest = Nest.end
            for _ in 0..<1000 { nest = .more(nest) }
            archives.append(try KeyedArchiver.archive(nest, limits: limits))
            var list = PropertyList.integer(1)
            for level in 0..<1900 { list = level % 2 == 0 ? .array([list]) : .dictionary(["k": list]) }
            archives.append(try KeyedArchiver.archive(list, limits: limits))
            #expect(try KeyedUnarchiver.unarchive(PropertyList.self, from: archives[1], limits: limits) == list)
        }
        let bytes = archives
        try onThread(stack: 512 << 10) {
            var error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Nest.self, from: bytes[0]) }
            #expect(error?.code == .limit)
            error = #expect(throws: ArchiveError.self) {
                try KeyedUnarchiver.unarchive(PropertyList.self, from: bytes[1])
            }
            #expect(error?.code == .limit)
            for bytes in bytes {
                error = #expect(throws: ArchiveError.self) { try ArchivedGraph(bytes) }
                #expect(error?.code == .limit)
            }
        }
    }

    @Test("Chains through Codable classes and structures work too")
    func mixedChain() throws {
        final class Plain: Codable {
            struct Holder: Codable { var list: [Plain] }
            var holder: Holder
            init(_ list: [Plain]) { holder = Holder(list: list) }
        }
        try onThread(stack: 512 << 10) {
            var plain = Plain([])
            for _ in 1..<5000 { plain = Plain([plain]) }
            var copy: Plain? = try roundTrip(plain)
            var count = 0
            while let next = copy {
                copy = next.holder.list.first
                next.holder.list = []
                count += 1
            }
            #expect(count == 5000)
            var original: Plain? = plain
            while let next = original {
                original = next.holder.list.first
                next.holder.list = []
            }
        }
    }

    @Test("Apple's format needs little stack for long chains and deep values; too deep ones are an error")
    func appleFormat() throws {
        final class Plain: Codable {
            var next: Plain?
            init(_ next: Plain?) { self.next = next }
        }
        try onThread(stack: 512 << 10) {
            for format in [ArchiveFormat.binary, .xml] {
                let first = Node.list(10_000)
                let copy = try roundTrip(first, format: format)
                #expect(copy.next?.previous === copy)
                copy.dismantle()
                first.dismantle()
                var list = PropertyList.integer(1)
                for level in 0..<500 { list = level % 2 == 0 ? .array([list]) : .dictionary(["k": list]) }
                #expect(try roundTrip(list, format: format) == list)
                var plain = Plain(nil)
                for _ in 0..<400 { plain = Plain(plain) }
                #expect(try roundTrip(plain, format: format).next?.next != nil)
                for _ in 0..<600 { plain = Plain(plain) }
                let error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(plain, format: format) }
                #expect(error?.code == .cycle)
            }
            // More than any reader accepts, but no more than the layout allows.
            var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
            var last = try graph.add(.value(.integer(1)))
            for _ in 0..<5000 {
                last = graph.add(className: "NSArray", fields: [("NS.objects", .list([.reference(last)]))])
            }
            graph.setRoot(.reference(last), forKey: "root")
            let bytes = try graph.bytes(format: .binary)
            #expect(try ArchivedGraph(bytes) == graph)
            let error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver(bytes) }
            #expect(error?.code == .limit)
        }
    }
}
