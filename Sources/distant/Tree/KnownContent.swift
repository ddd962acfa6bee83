#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Files that data may contain, recognised by their first bytes.
enum KnownContent: String {
    case typedstream = "a typedstream"
    case propertyList = "a binary property list"
    case xml = "XML"
    case nibArchive = "a NIBArchive"
    case tiff = "a picture (TIFF)"
    case png = "a picture (PNG)"
    case jpeg = "a picture (JPEG)"
    case pdf = "a PDF"
    case rtf = "RTF"
    case rtfd = "RTFD"
    case oldString = "an old property list"

    init?(_ bytes: Data) {
        let marks: [(String, KnownContent)] = [
            ("\u{4}\u{B}streamtyped", .typedstream), ("\u{4}\u{B}typedstream", .typedstream),
            ("bplist00", .propertyList), ("<?xml", .xml), ("NIBArchive", .nibArchive), ("MM\u{0}*", .tiff),
            ("II*\u{0}", .tiff), ("%PDF", .pdf), ("{\\rtf", .rtf), ("rtfd\u{0}", .rtfd),
        ]
        if let found = marks.first(where: { bytes.starts(with: $0.0.utf8) }) {
            self = found.1
        } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
            self = .png
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if let first = bytes.first, (2...8).contains(first), bytes.count >= 8,
            bytes.dropFirst().prefix(3).allSatisfy({ $0 == 0 })
        {
            self = .oldString
        } else {
            return nil
        }
    }

    /// The string that an old property list consists of; nil for others.
    ///
    /// Its kind and its length in bytes are little-endian, four bytes each. Kind 5 is a string in the NeXT character set,
    /// which has ASCII in common with others, and kind 6 one in UTF-16 with a mark of its byte order.
    static func oldString(_ bytes: Data) -> String? {
        let bytes = Array(bytes)
        guard bytes.count >= 8, bytes[1] == 0, bytes[2] == 0, bytes[3] == 0, bytes[6] == 0, bytes[7] == 0 else {
            return nil
        }
        let end = 8 + Int(bytes[4]) + Int(bytes[5]) << 8
        guard end <= bytes.count else { return nil }
        let content = bytes[8..<end]
        if bytes[0] == 5, content.allSatisfy({ $0 < 0x80 }) { return String(decoding: content, as: UTF8.self) }
        guard bytes[0] == 6, content.count % 2 == 0, content.count >= 2 else { return nil }
        let isBigEndian = content.starts(with: [0xFE, 0xFF])
        guard isBigEndian || content.starts(with: [0xFF, 0xFE]) else { return nil }
        var units: [UInt16] = []
        for at in stride(from: 10, to: end, by: 2) {
            let (first, second) = (UInt16(bytes[at]), UInt16(bytes[at + 1]))
            units.append(isBigEndian ? first << 8 | second : second << 8 | first)
        }
        return String(decoding: units, as: UTF16.self)
    }
}
