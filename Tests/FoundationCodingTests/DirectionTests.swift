import Foundation
import FoundationCoding
import KeyedArchive
import Testing

/// Decodes while encoding, and encodes while decoding.
private final class Muddled: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true
    let decodesWhileEncoding: Bool

    init(decodesWhileEncoding: Bool) { self.decodesWhileEncoding = decodesWhileEncoding }

    init?(coder: NSCoder) {
        decodesWhileEncoding = false
        coder.encode("found", forKey: "state")
    }

    func encode(with coder: NSCoder) {
        guard decodesWhileEncoding else { return }
        coder.encode(coder.decodeInteger(forKey: "count") + 1, forKey: "count")
    }
}

@Suite("Calls of the other direction")
struct DirectionTests {
    private static let decoding: [@Sendable (NSCoder) -> Void] = [
        { #expect(!$0.containsValue(forKey: "k")) },
        { #expect($0.decodeObject(forKey: "k") == nil) },
        { #expect($0.decodeObject(of: NSString.self, forKey: "k") == nil) },
        { #expect($0.decodeObject(of: [NSString.self], forKey: "k") == nil) },
        { #expect($0.decodePropertyList(forKey: "k") == nil) },
        { #expect(!$0.decodeBool(forKey: "k")) },
        { #expect($0.decodeInteger(forKey: "k") == 0) },
        { #expect($0.decodeCInt(forKey: "k") == 0) },
        { #expect($0.decodeInt32(forKey: "k") == 0) },
        { #expect($0.decodeInt64(forKey: "k") == 0) },
        { #expect($0.decodeFloat(forKey: "k") == 0) },
        { #expect($0.decodeDouble(forKey: "k") == 0) },
        { #expect($0.withDecodedUnsafeBufferPointer(forKey: "k") { $0 == nil }) },
        { #expect($0.withDecodedUnsafeBytes(forKey: "k") { $0 == nil }) },
        { #expect($0.decodeObject() == nil) },
        { #expect($0.decodeData() == nil) },
        { #expect($0.decodePropertyList() == nil) },
        { coder in
            var number = 7.5
            coder.decodeValue(ofObjCType: "d", at: &number)
            coder.decodeArray(ofObjCType: "d", count: 1, at: &number)
            #expect(number == 7.5)
        },
        { #expect($0.decodeRect(forKey: "k") == .zero) },
    ]

    private static let encoding: [@Sendable (NSCoder) -> Void] = [
        { $0.encode("o" as Any?, forKey: "k") },
        { $0.encodeConditionalObject("o", forKey: "k") },
        { $0.encode(true, forKey: "k") },
        { $0.encode(1, forKey: "k") },
        { $0.encode(Int32(1), forKey: "k") },
        { $0.encode(Int64(1), forKey: "k") },
        { $0.encode(Float(1), forKey: "k") },
        { $0.encode(1.0, forKey: "k") },
        { $0.encodeBytes([1] as [UInt8], length: 1, forKey: "k") },
        { $0.encode("o") },
        { $0.encodeRootObject("o") },
        { $0.encodeBycopyObject("o") },
        { $0.encodeByrefObject("o") },
        { $0.encodeConditionalObject("o") },
        { $0.encodePropertyList(["o"]) },
        { $0.encode(Data([1])) },
        { $0.encodeBytes([1] as [UInt8], length: 1) },
        { coder in
            var number = 7.5
            coder.encodeValue(ofObjCType: "d", at: &number)
        },
        { $0.encodeArray(ofObjCType: "d", count: 1, at: [7.5]) },
        { $0.encode(NSPoint(x: 1, y: 2), forKey: "k") },
    ]

    @Test("Decoding from an archiver sets its error, and the archive is refused")
    func decodingFromArchiver() throws {
        for decode in Self.decoding {
            let archiver = NSCodingArchiver()
            decode(archiver)
            #expect((archiver.error as? ArchiveError)?.code == .misuse)
            #expect(throws: ArchiveError.self) { try archiver.data() }
        }
    }

    @Test("Encoding into an unarchiver sets its error")
    func encodingIntoUnarchiver() throws {
        let archiver = NSCodingArchiver()
        archiver.encode(1, forKey: "k")
        let data = try archiver.data()
        for encode in Self.encoding {
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
            encode(unarchiver)
            #expect((unarchiver.error as? ArchiveError)?.code == .misuse)
        }
    }

    @Test("A class that mixes up the directions gets a thrown error for its archive")
    func muddledClass() throws {
        let error = #expect(throws: ArchiveError.self) {
            try NSCodingArchiver.archivedData(withRootObject: [Muddled(decodesWhileEncoding: true)])
        }
        #expect(error?.code == .misuse)
        #expect(error?.message.contains("decodeInteger(forKey:)") == true)
        let data = try NSCodingArchiver.archivedData(withRootObject: Muddled(decodesWhileEncoding: false))
        let other = #expect(throws: ArchiveError.self) {
            _ = try NSCodingUnarchiver.unarchivedObject(ofClass: Muddled.self, from: data)
        }
        #expect(other?.code == .misuse)
    }
}
