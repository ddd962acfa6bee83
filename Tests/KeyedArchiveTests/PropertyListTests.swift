import Foundation
import Testing

@testable import KeyedArchive

/// The outermost dictionary of an archive in XML, with the given `$objects` and `$top`.
private func archive(objects: String, top: String = "<key>root</key><dict><key>CF$UID</key><integer>1</integer></dict>")
    -> [UInt8]
{
    Array(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict>
        <key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer>
        <key>$top</key><dict>\(top)</dict>
        <key>$objects</key><array><string>$null</string>\(objects)</array>
        </dict></plist>
        """.utf8)
}

private func uid(_ number: Int) -> String { "<dict><key>CF$UID</key><integer>\(number)</integer></dict>" }

@Suite("Archives in Apple's format as graphs")
struct PropertyListTests {
    private func checkAllForms(_ graph: ArchivedGraph, _ comment: Comment? = nil) throws {
        for format in [ArchiveFormat.binary, .xml] {
            let bytes = try graph.bytes(format: format)
            #expect(ArchiveFormat(detecting: bytes) == format)
            #expect(try ArchivedGraph(bytes) == graph, comment)
        }
    }

    @Test("Every kind of value keeps its kind in binary and XML")
    func kindsInPropertyList() throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let values: [ArchivedValue] = [
            .null, .bool(true), .bool(false), .integer(0), .integer(255), .integer(256), .integer(65_536),
            .integer(1 << 32), .integer(-1), .integer(.min), .integer(.max), .unsigned(1 << 63), .unsigned(.max),
            .wide(Int128(UInt64.max) + 1), .wide(.min), .wide(.max), .float(bits: Float(0.1).bitPattern),
            .float(bits: 0x7FC0_0001), .float(bits: Float.infinity.bitPattern), .double(bits: (-0.0).bitPattern),
            .double(bits: 0x7FF0_0000_0000_0001), .double(bits: Double.nan.bitPattern),
            .double(bits: 1),
            .double(bits: (-Double.infinity).bitPattern), .double(bits: Double.pi.bitPattern),
            .date(bits: 0), .date(bits: 0.5.bitPattern), .date(bits: (-1e9).bitPattern), .date(bits: 1e300.bitPattern),
            .date(bits: Double.nan.bitPattern), .string(""), .string("a<b>&\"'\r\n\t]]>"), .string("é€😀"),
            .string("\u{0}\u{1F}"), .brokenString([0xD800]), .brokenString([0x61, 0xDC00, 0xD83D, 0xDE00, 0xD800]),
            .string(String(repeating: "x", count: 1000)), .data(Data()), .data(Data([0])), .data(Data([1, 2])),
            .data(Data((0...255).map { UInt8($0) })), .list([]), .map([]), .list([.list([.list([])])]),
            .map([.init(.string("k"), .map([.init(.string("$class"), .integer(1))]))]),
            .map([.init(.string("CF$UID"), .integer(7))]), .map([.init(.string("CF$UID"), .integer(-7))]),
            .map([.init(.brokenString([0xDFFF]), .reference(0))]),
        ]
        for value in values { _ = try graph.add(.value(value)) }
        let all = graph.add(
            className: "All", version: 3, superclasses: ["Base", "NSObject"],
            fields: values.enumerated().map { ("$k\($0.offset)", $0.element) })
        graph.setRoot(.reference(all), forKey: "root")
        graph.setRoot(.integer(3), forKey: "$plain")
        try checkAllForms(graph)
        let again = try ArchivedGraph(graph.bytes(format: .xml))
        for (index, value) in values.enumerated() {
            #expect(again.objects[index + 1] == .value(value))
            #expect(again.objects[all]["$k\(index)"] == value)
        }
        #expect(again.objects[all].record?.version == 3)
        #expect(again.roots.keys == ["root", "$plain"])
    }

    @Test("UIDs of every width are read and none is truncated")
    func uids() throws {
        for width in 1...16 {
            let uid = [UInt8](repeating: 0, count: width - 1) + [1]
            let graph = try ArchivedGraph(HandMade.archive(uid: uid))
            #expect(graph.roots["root"] == .reference(1), "\(width)")
            guard width > 1 else { continue }
            // The same last byte, but a larger number.
            #expect(throws: ArchiveError.self) { try ArchivedGraph(HandMade.archive(uid: [1] + uid.dropFirst())) }
        }
    }

    @Test("Offsets and references of all sizes are read", arguments: 1...8)
    func sizesInPropertyList(_ size: Int) throws {
        let graph = try ArchivedGraph(HandMade.archive(uid: [1], offsetSize: size, referenceSize: size))
        #expect(graph.objects[1] == .value(.string("x")))
        try checkAllForms(graph)
    }

    @Test("Shared lists are read once, stay shared in binary, and throw in XML where they would grow too large")
    func sharingInPropertyList() throws {
        for (levels, fits) in [(5, true), (24, false), (60, false)] {
            let graph = try ArchivedGraph(HandMade.shared(levels: levels))
            #expect(graph.sharedValues.count == levels - 1)
            let binary = try graph.bytes(format: .binary)
            #expect(binary.count < 2000)
            #expect(try ArchivedGraph(binary) == graph)
            #expect(graph.description.count < 10_000)
            if fits {
                #expect(try ArchivedGraph(graph.bytes(format: .xml)) == graph)
            } else {
                let error = #expect(throws: ArchiveError.self) { try graph.bytes(format: .xml) }
                #expect(error?.code == .limit)
            }
        }
    }

    @Test("A long string that occurs many times is made once, not once for each reference")
    func repeatedStrings() throws {
        let graph = try ArchivedGraph(HandMade.repeated(length: 1 << 20, times: 4_000))
        guard case .value(.list(let values)) = graph.objects[1] else {
            Issue.record("the list is \(graph.objects[1])")
            return
        }
        #expect(values.count == 4_000)
        let places = values.map { value -> UnsafePointer<UInt8>? in
            guard case .string(let text) = value else { return nil }
            return text.utf8.withContiguousStorageIfAvailable { $0.baseAddress } ?? nil
        }
        #expect(places[0] != nil && Set(places).count == 1)
    }

    @Test("Lists nested 100,000 deep are read, written and compared")
    func deepInPropertyList() throws {
        let depth = 100_000
        let text = String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)
        let graph = try ArchivedGraph(archive(objects: text))
        #expect(graph.sharedValues.count > depth / 30)
        try checkAllForms(graph)
    }

    @Test("XML may contain everything a property list allows besides values")
    func unusualXML() throws {
        let text = archive(
            objects: """
                <!-- a comment <with> tags --><?instruction?><string>a<![CDATA[<b>&amp;]]>&#x63;&#100;<!-- no -->&lt;</string>
                <string/><array/><dict/><data/><integer> 0x7F </integer><integer>+5</integer><real>+1e3</real><real>nan</real>
                <date>2001-01-01T00:00:01Z</date><data> AQ I= </data><true></true><dict ><key>k</key><false/></dict>
                """)
        let graph = try ArchivedGraph(text)
        let expected: [ArchivedValue] = [
            .string("a<b>&amp;cd<"), .string(""), .list([]), .map([]), .data(Data()), .integer(127), .integer(5),
            .double(bits: 1000.0.bitPattern), .double(bits: Double.nan.bitPattern), .date(bits: 1.0.bitPattern),
            .data(Data([1, 2])), .bool(true), .map([.init(.string("k"), .bool(false))]),
        ]
        #expect(graph.objects.dropFirst().map(\.plainValue) == expected)
        // The same in UTF-16, in both byte orders.
        let string = String(decoding: text, as: UTF8.self)
        for isBig in [true, false] {
            var bytes: [UInt8] = isBig ? [0xFE, 0xFF] : [0xFF, 0xFE]
            for unit in string.utf16 {
                let pair = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
                bytes += isBig ? pair : pair.reversed()
            }
            #expect(try ArchivedGraph(bytes) == graph)
        }
        #expect(try ArchivedGraph([0xEF, 0xBB, 0xBF] + text) == graph)
    }

    @Test(
        "XML that is broken is a thrown error",
        arguments: [
            "<string>a", "<string>&unknown;</string>", "<string>&#x110000;</string>", "<string>a</integer>", "<other/>",
            "<integer></integer>", "<integer>1.5</integer>", "<integer>--1</integer>", "<real>x</real>",
            "<date>2001-13-01T00:00:00Z</date>", "<data>*</data>", "<data>A</data>", "<dict><string>a</string></dict>",
            "<dict><key>a</key></dict>", "<dict><key>a</key><key>b</key></dict>", "<array><key>a</key></array>", "text",
            "<true>x</true>", "</array>", "<array></dict>", "<string><b/></string>", "<string>a<!DOCTYPE></string>",
            "<integer>340282366920938463463374607431768211456</integer>", "<string>&#xD800</string>",
        ])
    func brokenXML(_ text: String) {
        #expect(throws: ArchiveError.self) { try ArchivedGraph(archive(objects: text)) }
    }

    @Test("Declared entities are not expanded, and errors name other encodings and old styles")
    func refusedInPropertyList() {
        let bomb = """
            <?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><plist><string>&b;</string></plist>
            """
        #expect(throws: ArchiveError.self) { try ArchivedGraph(Array(bomb.utf8)) }
        let latin = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><plist><string>x</string></plist>"
        for text in [latin, "{ a = b; }", "( a, b )", "<0fbd77>", "\"text\"", "// comment\n{}"] {
            let error = #expect(throws: ArchiveError.self) { try ArchivedGraph(Array(text.utf8)) }
            #expect(error?.code == .unsupported || error?.code == .corrupt, "\(text)")
        }
        for text in ["[1]", "{\"archiver\": 1}"] {
            let error = #expect(throws: ArchiveError.self) { try ArchivedGraph(Array(text.utf8)) }
            #expect(error?.message.contains("JSON") == true, "\(text)")
        }
        #expect(throws: ArchiveError.self) { try ArchivedGraph([UInt8]()) }
    }

    @Test("Archives of other archivers open on request")
    func otherArchiver() throws {
        var graph = ArchivedGraph(archiver: "SCNKeyedArchiver")
        graph.setRoot(.reference(0), forKey: "root")
        let bytes = try graph.bytes(format: .binary)
        let error = #expect(throws: ArchiveError.self) { try ArchivedGraph(bytes) }
        #expect(error?.code == .unsupported)
        #expect(try ArchivedGraph(bytes, anyArchiver: true) == graph)
    }

    @Test("User keys that begin with $ and values without keys are distinguished")
    func dollarKeysInPropertyList() throws {
        let object = """
            <dict><key>$class</key>\(uid(2))<key>$$class</key><integer>1</integer><key>$0</key><integer>2</integer>
            <key>$$0</key><integer>3</integer><key>$1</key><integer>4</integer></dict>
            <dict><key>$classname</key><string>C</string></dict>
            """
        let graph = try ArchivedGraph(archive(objects: object))
        let record = try #require(graph.objects[1].record)
        #expect(record.keys == ["$class", "$0", "$0", "$1"])
        #expect((0..<4).map(record.isUnkeyed) == [false, true, false, true])
        #expect(record["$class"] == .integer(1))
        #expect(record["$0"] == .integer(3))
        #expect(record["$1"] == .integer(4))
        try checkAllForms(graph)
    }

    @Test("ArchiveLimits may be as large as Int.max")
    func noLimits() throws {
        var limits = ArchiveLimits()
        limits.bytes = .max
        limits.objects = .max
        limits.depth = .max - 100
        limits.collection = .max
        limits.string = .max
        limits.shapes = .max
        limits.keys = .max
        for format in [ArchiveFormat.compact, .binary, .xml] {
            let bytes = try KeyedArchiver.archive(Bar([Foo("a", 1)]), format: format, limits: limits)
            #expect(try KeyedUnarchiver.unarchive(Bar.self, from: bytes, limits: limits).foos.count == 1)
            let graph = try ArchivedGraph(bytes, limits: limits)
            #expect(try ArchivedGraph(graph.bytes(format: format, limits: limits), limits: limits) == graph)
        }
        let shared = try ArchivedGraph(HandMade.shared(levels: 5), limits: limits)
        #expect(try ArchivedGraph(shared.bytes(format: .xml, limits: limits)) == shared)
    }

    @Test("Ten thousand objects of one class share its record")
    func manyObjects() throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        for number in 0..<10_000 { _ = graph.add(className: "C", fields: [("n", .integer(Int64(number)))]) }
        #expect(graph.objects.count == 10_002)
        #expect(try ArchivedGraph(graph.bytes(format: .binary)) == graph)
    }

    @Test("A class record with invalid names keeps its content")
    func oddClassRecords() throws {
        let object = """
            <dict><key>$class</key>\(uid(2))</dict>
            <dict><key>$classname</key><string>C</string><key>$classes</key><array><string>$null</string></array>
            <key>$classhints</key><integer>1</integer><key>x</key><true/></dict>
            """
        let graph = try ArchivedGraph(archive(objects: object))
        guard case .classRecord(let type) = graph.objects[2] else {
            Issue.record("no class record")
            return
        }
        #expect(type.name == "C" && type.classes == nil && type.hints == nil && type.others.count == 3)
        try checkAllForms(graph)
        // The same with the null of the binary format.
        var bytes = try graph.bytes(format: .binary)
        let null = try #require(bytes.firstRange(of: [0x55] + Array("$null".utf8))).lowerBound
        bytes[null] = 0x00
        #expect(try ArchivedGraph(bytes) == graph)
        try checkAllForms(ArchivedGraph(bytes))
    }

    @Test("A list of objects that is also a value is an error: its objects would be written twice")
    func objectsAsValue() throws {
        let error = try #require(throws: ArchiveError.self) { try ArchivedGraph(HandMade.objectsAsRoot()) }
        #expect(error.code == .corrupt && "\(error)".contains("several times"))
        #expect(throws: ArchiveError.self) { try KeyedUnarchiver(HandMade.objectsAsRoot()) }
    }

    @Test("A graph of Apple's layout can be changed and written back")
    func changesInPropertyList() throws {
        var graph = try ArchivedGraph(
            archive(
                objects: """
                    <dict><key>$class</key>\(uid(3))<key>name</key>\(uid(2))<key>self</key>\(uid(1))</dict>
                    <string>old</string><dict><key>$classname</key><string>Foo</string></dict>
                    """))
        let before = graph
        try graph.replace(2, with: .value(.string("new")))
        try graph.setValue(.integer(7), forKey: "self", of: 1)
        let other = graph.add(className: "Foo", fields: [("name", .reference(2))])
        graph.setRoot(.reference(other), forKey: "other")
        #expect(graph != before)
        try checkAllForms(graph)
        let read = try ArchivedGraph(graph.bytes(format: .binary))
        #expect(read.objects[1]["self"] == .integer(7))
        #expect(read.objects[other].record?.classIndex == 3)
        #expect(read.objects[2].plainValue == .string("new"))
        #expect(throws: ArchiveError.self) { try graph.replace(99, with: .value(.null)) }
        graph.setRoot(.reference(99), forKey: "other")
        #expect(throws: ArchiveError.self) { try graph.bytes(format: .binary) }
    }

    /// The only `Data` of a graph; in the compact layout it is not an object.
    private func onlyData(of graph: ArchivedGraph) -> Data? {
        for value in [graph.roots["root"]] + graph.objects.map(\.plainValue) {
            if case .data(let data)? = value { return data }
        }
        return nil
    }

    @Test(
        "Changing big data changes neither the file nor the graph, also once the graph is gone",
        arguments: [ArchiveFormat.binary, .xml, .compact])
    func bigData(_ format: ArchiveFormat) throws {
        let big = Data(repeating: 7, count: 100_000)
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let index = try graph.add(.value(.data(big)))
        graph.setRoot(.reference(index), forKey: "root")
        let bytes = try graph.bytes(format: format)
        let untouched = Array(bytes)
        let read = try ArchivedGraph(bytes)
        var data = try #require(onlyData(of: read))
        data[0] = 1
        #expect(onlyData(of: read) == big)
        #expect(try ArchivedGraph(bytes) == read)
        var last = try #require(onlyData(of: ArchivedGraph(bytes)))
        last[5] = 99
        let copy = Data(bytes)
        var other = try #require(onlyData(of: ArchivedGraph(copy)))
        other[5] = 99
        #expect(bytes.elementsEqual(untouched) && copy.elementsEqual(untouched))
        try checkAllForms(graph)
    }

    @Test("A changed byte or a missing end is an error or another graph, never a trap")
    func damage() throws {
        for bytes in [
            HandMade.archive(uid: [1]), HandMade.shared(levels: 4), archive(objects: "<array><true/></array>"),
        ] {
            for position in bytes.indices {
                _ = try? ArchivedGraph(Array(bytes[..<position]))
                for value: UInt8 in [0, 1, 0x0F, 0x5F, 0x7F, 0x80, 0xA1, 0xD1, 0xFF, UInt8(ascii: "<")] {
                    var damaged = bytes
                    damaged[position] = value
                    guard let graph = try? ArchivedGraph(damaged) else { continue }
                    #expect(try ArchivedGraph(graph.bytes(format: .binary)) == graph)
                }
            }
        }
    }
}
