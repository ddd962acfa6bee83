import ArchiveFixtures
import Foundation
import Testing

@testable import KeyedArchive

@Suite("Text that XML cannot contain")
struct XMLTextTests {
    /// The first character of an XML file that XML 1.0 does not allow, or the first entity other than those it needs.
    private func mistake(in xml: [UInt8]) -> String? {
        guard let text = String(validating: xml, as: UTF8.self) else { return "not UTF-8" }
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: continue
            default: return "U+\(String(scalar.value, radix: 16))"
            }
        }
        let allowed = ["&amp;", "&lt;", "&gt;", "&#13;"]
        return text.indices.first { i in text[i] == "&" && !allowed.contains { text[i...].hasPrefix($0) } }
            .map { String(text[$0...].prefix(10)) }
    }

    private func graph(_ values: [ArchivedValue]) throws -> ArchivedGraph {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        for value in values { _ = try graph.add(.value(value)) }
        return graph
    }

    @Test("Control characters, unpaired surrogates and others are replaced in the text, and come back")
    func replacedInXMLText() throws {
        var texts: [[UInt16]] = [
            [0], [0x1B, 0x5B, 0xFFFD, 0x1B], [0xFFFD], [0xFFFE, 0xFFFF], [0xD800], [0xDC00, 0xD800],
            [0xD800, 0xD800, 0xDC00],
            [0x61, 0xDC00, 0xD83D, 0xDE00, 0xD800], [0x0D, 0x0A, 0x09, 0x01, 0x26, 0x3C], [0x7F, 0x80, 0x9F, 0],
        ]
        texts.append(Array(repeating: 0, count: 100_000))
        texts.append(Array(0...0xFFFF))
        for units in texts {
            let text = String(validating: units, as: UTF16.self)
            let value = text.map { ArchivedValue.string($0) } ?? .brokenString(units)
            let graph = try graph([value, .map([.init(value, value)])])
            let xml = try graph.bytes(format: .xml)
            #expect(mistake(in: xml) == nil, "\(units.prefix(8))")
            #expect(try ArchivedGraph(xml) == graph, "\(units.prefix(8))")
        }
    }

    @Test("The attribute lists the units for which U+FFFD stands")
    func formInXMLText() throws {
        let xml = try graph([.brokenString([0x1B, 0x41, 0xFFFD, 0xD800]), .string("\u{FFFD}\r")]).bytes(format: .xml)
        let text = String(decoding: xml, as: UTF8.self)
        #expect(text.contains("<string replaced=\"1b,fffd,d800\">\u{FFFD}A\u{FFFD}\u{FFFD}</string>\n"))
        #expect(text.contains("<string>\u{FFFD}&#13;</string>\n"))
    }

    @Test("Objects keep such strings and keys in XML")
    func coders() throws {
        let value = ["a\u{0}": "\u{1}\u{FFFF}", "b": "\u{FFFD}"]
        let xml = try KeyedArchiver.archive(value, format: .xml)
        #expect(mistake(in: xml) == nil)
        #expect(try KeyedUnarchiver.unarchive([String: String].self, from: xml) == value)
    }

    @Test("Each archive, and each broken one that opens, becomes XML that any parser opens")
    func archivesInXMLText() throws {
        for archive in try Fixtures.real().map(\.archive) + Fixtures.malformed() {
            guard let graph = try? ArchivedGraph(archive.bytes, anyArchiver: true),
                let xml = try? graph.bytes(format: .xml)
            else { continue }
            #expect(mistake(in: xml) == nil, "\(archive.name)")
            #expect(try ArchivedGraph(xml, anyArchiver: true) == graph, "\(archive.name)")
        }
    }

    private func archive(_ object: String) -> [UInt8] {
        Array(
            """
            <plist><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer>
            <key>$top</key><dict/><key>$objects</key><array>\(object)</array></dict></plist>
            """.utf8)
    }

    @Test("Entities of such characters, which earlier versions and Apple write, are read")
    func entities() throws {
        let graph = try ArchivedGraph(archive("<string>&#0;&#x1B;</string><string>&#55296;</string>"))
        #expect(graph.objects.map(\.plainValue) == [.string("\u{0}\u{1B}"), .brokenString([0xD800])])
    }

    @Test(
        "A list of characters that does not fit the text is an error",
        arguments: [
            ("0", "x"), ("0", ""), ("", "\u{FFFD}"), ("0,1", "\u{FFFD}"), ("0", "\u{FFFD}\u{FFFD}"), ("g", "\u{FFFD}"),
            ("10000", "\u{FFFD}"), ("-1", "\u{FFFD}"),
        ])
    func wrongLists(_ list: String, _ text: String) {
        let error = #expect(throws: ArchiveError.self) {
            try ArchivedGraph(archive("<string replaced=\"\(list)\">\(text)</string>"))
        }
        #expect(error?.code == .corrupt && error?.message.contains("replaced characters") == true)
        #expect(throws: ArchiveError.self) { try ArchivedGraph(archive("<string replaced=\"0\"/>")) }
    }
}
