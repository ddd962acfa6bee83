import ArchiveFixtures
import Foundation
import TestSupport
import Testing

@testable import KeyedArchive

@Suite("Typedstreams as graphs")
struct TypedStreamGraphTests {
    private typealias Bytes = TypedStreamBytes

    /// The text of a file, which also has to be written as the same bytes.
    private func text(_ bytes: [UInt8]) throws -> String {
        let graph = try TypedStreamGraph(bytes)
        #expect(try graph.bytes() == bytes)
        return graphText(graph)
    }

    // MARK: Files of others

    @Test("Each well-formed typedstream is detected, opens, and is written as the same bytes")
    func goodInTypedStreamGraph() throws {
        let archives = try Fixtures.typedstreams()
        #expect(Fixtures.isCount(archives.count, ofOthers: 65 + 27 + 5, own: 11))
        for archive in archives {
            #expect(ArchiveFormat(detecting: archive.bytes) == .typedstream, "\(archive.name)")
            let start = computingTime()
            do {
                let graph = try TypedStreamGraph(archive.data)
                #expect(try graph.bytes() == archive.bytes, "\(archive.name)")
                _ = try graph.forms()
                #expect(!graphText(graph).isEmpty || archive.name == "empty.ts", "\(archive.name)")
                #expect(try graph == TypedStreamGraph(archive.bytes))
            } catch {
                Issue.record("\(archive.name): \(error)")
            }
            #expect((computingTime() - start) / Effort.unit < Effort.bound, "\(archive.name)")
        }
    }

    @Test("Each malformed typedstream is refused with the place of the first byte that is wrong")
    func malformedInTypedStreamGraph() throws {
        let archives = try Fixtures.brokenTypedstreams()
        #expect(Fixtures.isCount(archives.count, ofOthers: 36, own: 33))
        for archive in archives {
            let error = #expect(throws: ArchiveError.self, "\(archive.name)") {
                _ = try TypedStreamGraph(archive.bytes)
            }
            #expect(error?.message.contains(", at byte ") == true, "\(archive.name): \(error?.message ?? "")")
        }
    }

    @Test("A typedstream that is cut anywhere, or has another byte somewhere, opens and is written back, or is refused")
    func changedInTypedStreamGraph() throws {
        for archive in TypedStreamBytes.good {
            for end in archive.bytes.indices {
                let part = Array(archive.bytes[..<end])
                if let graph = try? TypedStreamGraph(part) { #expect(try graph.bytes() == part) }
                for change: UInt8 in [0x01, 0x04, 0x80, 0xFF] {
                    var changed = archive.bytes
                    changed[end] ^= change
                    guard let graph = try? TypedStreamGraph(changed) else { continue }
                    #expect(try graph.bytes() == changed, "\(archive.name), byte \(end)")
                    _ = graphText(graph)
                }
            }
        }
    }

    // MARK: Content

    @Test("Integers have the value of their type, whatever form they are stored in")
    func integers() throws {
        #expect(
            try text(
                Bytes.file(Bytes.new("cCsSiIlLqQB"), [0x80, 0xFF, 0xFF, 0xFF, 0xFE, 0xFE, 5, 0x92, 0x92, 0xFD, 1]))
                == "(cCsSiIlLqQB: -128 255 -1 65535 -2 4294967294 5 4294967186 -110 u18446744073709551613 true)")
        #expect(
            try text(
                Bytes.file(Bytes.new("SIQ"), [0x82, 0xFF, 0xFF, 1, 0], [0x87, 7, 0, 0, 0, 1, 0, 0, 0], [0x81, 1, 0]))
                == "(SIQ: 65535 7 1)")
        #expect(
            try text(Bytes.bigEndianFile(Bytes.new("iq"), [0x82, 0, 1, 0, 0], [0x87, 0, 0, 1, 0, 0, 0, 0, 5]))
                == "(iq: 65536 1099511627781)")
    }

    @Test("Floating-point numbers are integers or bits, and keep the sign of zero and the bits of a NaN")
    func floats() throws {
        let bytes = Bytes.file(
            Bytes.new("ffdd"), [3], [0x83, 1, 0, 0xC0, 0x7F], Bytes.number(-941_389_200),
            [0x83, 0, 0, 0, 0, 0, 0, 0, 0x80])
        let graph = try TypedStreamGraph(bytes)
        let values = graph.groups.flatMap { Array($0.values) }
        #expect(
            values == [
                .float(bits: Float(3).bitPattern), .float(bits: 0x7FC0_0001),
                .double(bits: (-941_389_200.0).bitPattern),
                .double(bits: (-0.0).bitPattern),
            ])
        #expect(try graph.bytes() == bytes)
        #expect(try graph.forms() == TypedStreamForms())
    }

    @Test("Objects, classes and C strings share one numbering, and are the same at each reference")
    func labels() throws {
        let bytes = Bytes.file(
            Bytes.new("@"), [0x84, 0x84], Bytes.new("Sub"), [3, 0x84], Bytes.new("Base"), [1], Bytes.null,
            Bytes.new("*@"), [0x84], Bytes.reference(2), Bytes.reference(0), Bytes.end,
            Bytes.new("@#*"), Bytes.reference(0), Bytes.reference(2), Bytes.reference(3))
        #expect(try text(bytes) == "(@: #0)(@#*: #0 #2 #3) #0=#1(*@: #3 #0) #1=Sub 3:#2 #2=Base 1:nil #3=*Base")
    }

    @Test("A stream may have several roots, or none")
    func rootsInTypedStreamGraph() throws {
        #expect(try text(Bytes.file()) == "")
        #expect(
            try text(Bytes.file(Bytes.new("i"), [1], Bytes.new("@i"), Bytes.null, [2], Bytes.reference(0), [3]))
                == "(i: 1)(@i: nil 2)(i: 3)")
        #expect(try TypedStreamGraph(Bytes.bigEndianFile()).systemVersion == 930)
        #expect(try TypedStreamGraph(Bytes.bigEndianFile()).isBigEndian)
    }

    @Test("Structures and arrays are flat, and arrays of nothing have no elements")
    func structures() throws {
        let bytes = Bytes.file(
            Bytes.new("{P={ff}[2{?=s!}]}[3c][0@][5!]"), [1, 2, 3, 4, 0x84, 0x85, 0x86])
        #expect(
            try text(bytes)
                == "({P={ff}[2{?=s!}]}[3c][0@][5!]: {P= { f1.0 f2.0 } [2×{?=s!} {?= 3 ! } {?= 4 ! } ] } "
                + "<[132, 133, 134]c> [0×@] [5×!])")
        #expect(
            try text(
                Bytes.file(
                    Bytes.new("[1[2[1@]]]"), Bytes.null, Bytes.object("A"), Bytes.end, Bytes.reference(0), Bytes.null,
                    Bytes.null))
                == "([1[2[1@]]]: [1×[2[1@]] [2×[1@] [1×@ nil ] [1×@ #0 ] ] ])([1[2[1@]]]: [1×[2[1@]] [2×[1@] [1×@ nil ] [1×@ nil ] ] ])"
                + " #0=#1 #1=A 0:nil")
    }

    @Test("Text that is not UTF-8 stays as it is")
    func notUTF8() throws {
        let graph = try TypedStreamGraph(Bytes.file(Bytes.new("+"), [2, 0xFF, 0xFE]))
        guard case .text(let text)? = graph.groups.first(where: { _ in true })?.values.first(where: { _ in true })
        else {
            Issue.record("there is no text")
            return
        }
        #expect(text.string == nil && text.data == Data([0xFF, 0xFE]))
    }

    // MARK: Errors

    @Test("An error names the value, its object and class, and the byte")
    func errorPlaces() {
        let bytes = Bytes.file(
            Bytes.new("@"), Bytes.object("NSMenuItem", version: 505), Bytes.new("i@"), [1], Bytes.null,
            Bytes.new("*@"), [0x84], Bytes.new("x"), Bytes.reference(1), Bytes.end)
        let error = #expect(throws: ArchiveError.self) { _ = try TypedStreamGraph(bytes) }
        #expect(
            error?.message
                == "$3 of NSMenuItem #0: expected an object, found the label 1, which is a class, at byte \(bytes.count - 2)"
        )
    }

    @Test("Classes without a name, types of other languages and numbers with unknown tags are refused by name")
    func errorReasons() {
        func message(_ bytes: [UInt8]) -> String {
            do { _ = try TypedStreamGraph(bytes) } catch { return "\(error)" }
            return "no error"
        }
        #expect(message(Bytes.file(Bytes.new("(u=if)"))).contains("found “(”, a union"))
        #expect(
            message(Bytes.file(Bytes.new("i"), [0x88])).contains(
                "expected an integer, found the byte 0x88, which is no tag"))
        #expect(
            message(Bytes.file(Bytes.new("@"), [0x84, 0x84, 0x85])).contains("expected the name of a class, found nil"))
        #expect(message([3, 11] + Array("typedstream".utf8)).contains("expected version 4"))
        // The place is that of the encoding.
        #expect(message(Bytes.file(Bytes.new("i{a=i^}"))).hasSuffix("found “^”, a pointer, at byte 23"))
        // The name of a class is no type string: the reference to it is wrong.
        let reference = Bytes.file(Bytes.new("@"), Bytes.object("i^"), Bytes.reference(1), [1], Bytes.end)
        #expect(
            message(reference).hasSuffix(
                "found “^”, a pointer, in the string 1 that is referred to, at byte \(reference.count - 3)"))
        #expect(
            message([4, 12] + Array("streamtyped".utf8))
                == "expected the signature of a typedstream with 11 bytes, found one of 12, at byte 1")
    }

    @Test("The coders with keys say what a typedstream is, and neither they nor keyed graphs write one")
    func otherDoorsInTypedStreamGraph() throws {
        func reason(_ body: () throws -> Void) -> String {
            do { try body() } catch { return "\(error)" }
            return "no error"
        }
        let bytes = Bytes.file()
        #expect(reason { _ = try ArchivedGraph(bytes) }.contains("TypedStreamGraph"))
        #expect(reason { _ = try KeyedUnarchiver(bytes) }.contains("TypedStreamGraph"))
        #expect(reason { _ = try KeyedArchiver.archive(1, format: .typedstream) }.contains("TypedStreamGraph"))
        #expect(reason { _ = try ArchivedGraph().bytes(format: .typedstream) }.contains("TypedStreamGraph"))
        let old: [UInt8] = [3, 11] + Array("typedstream".utf8)
        #expect(ArchiveFormat(detecting: old) == nil)
        #expect(reason { _ = try ArchivedGraph(old) }.contains("a typedstream of version 3"))
        #expect(
            reason { _ = try ArchivedGraph(Array(bytes.prefix(9))) }
                == "expected the signature of a typedstream, found the end, at byte 2")
    }

    // MARK: Forms

    @Test("A stream that is written from its values and its forms has the same bytes")
    func formsInTypedStreamGraph() throws {
        let bytes = Bytes.file(
            Bytes.new("@"), Bytes.null, Bytes.new("@"), Bytes.null, Bytes.reference(1), Bytes.null,
            Bytes.new("iS"), [0x81, 5, 0, 0x82, 0xFF, 0xFF, 1, 0], Bytes.new("d"), [0x83, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F])
        let graph = try TypedStreamGraph(bytes)
        let forms = try graph.forms()
        #expect(forms.strings == [.init(position: 1, number: 1), .init(position: 2, number: 1)])
        #expect(
            forms.numbers == [
                .init(position: 5, stored: TypedStreamNumber(5, .short)),
                .init(position: 6, stored: TypedStreamNumber(0x1FFFF, .word)), .init(position: 8, stored: nil),
            ])
        var writer = TypedStreamWriter(isBigEndian: false, forms: forms)
        defer { writer.deallocate() }
        writer.number(1000)
        func type(_ text: String) { text.withUTF8Bytes { writer.sharedString($0) } }
        for _ in 0..<3 {
            type("@")
            writer.null()
        }
        type("iS")
        writer.integer(5, UInt8(ascii: "i"))
        writer.integer(0xFFFF, UInt8(ascii: "S"))
        type("d")
        writer.double(bits: (1.0).bitPattern)
        #expect(Array(writer.bytes) == bytes)
    }
}

extension String {
    fileprivate func withUTF8Bytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        var text = self
        text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}
