/// Typedstreams put together byte by byte, as no archiver writes them.
package enum TypedStreamBytes {
    package static let null: [UInt8] = [0x85]
    package static let end: [UInt8] = [0x86]

    /// A little-endian file of system 1000 with what follows its header.
    package static func file(_ content: [UInt8]...) -> [UInt8] {
        [4, 11] + Array("streamtyped".utf8) + [0x81, 0xE8, 0x03] + content.flatMap(\.self)
    }

    /// A big-endian file of system 930.
    package static func bigEndianFile(_ content: [UInt8]...) -> [UInt8] {
        [4, 11] + Array("typedstream".utf8) + [0x81, 0x03, 0xA2] + content.flatMap(\.self)
    }

    /// A number in its smallest form.
    package static func number(_ value: Int) -> [UInt8] {
        if (-110...127).contains(value) { return [UInt8(bitPattern: Int8(value))] }
        let size = Int16(exactly: value) != nil ? 2 : Int32(exactly: value) != nil ? 4 : 8
        return [size == 2 ? 0x81 : size == 4 ? 0x82 : 0x87]
            + (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// A reference to a string or a label.
    package static func reference(_ position: Int) -> [UInt8] { number(position - 110) }

    /// A string that is not shared.
    package static func text(_ text: String) -> [UInt8] { number(text.utf8.count) + Array(text.utf8) }

    /// A new shared string; also the beginning of a group of a type that was not used before.
    package static func new(_ text: String) -> [UInt8] { [0x84] + self.text(text) }

    /// A new object of a new class without superclass, up to its first group.
    package static func object(_ name: String, version: Int = 0) -> [UInt8] {
        [0x84, 0x84] + new(name) + number(version) + null
    }

    // MARK: Files for tests where those of others are not at hand

    /// Files that open.
    package static let good: [(name: String, bytes: [UInt8])] = [
        ("empty.ts", file()),
        ("string.ts", file(new("@"), object("NSString", version: 1), new("+"), text("é"), end)),
        ("not-utf8.ts", file(new("+"), [2, 0xFF, 0xFE])),
        ("scalars.ts", file(new("cCsSiIlLqQB"), [0x80, 0xFF, 0xFF, 0xFF, 0xFE, 0xFE, 5, 0x92, 0x91 + 1, 0xFD, 1])),
        (
            "scalars-be.ts",
            bigEndianFile(new("iqf"), [0x82, 0, 1, 0, 0, 0x87, 1, 2, 3, 4, 5, 6, 7, 8, 0x83, 0x3F, 0, 0, 0])
        ),
        (
            "wide.ts",
            file(new("iSd"), [0x81, 5, 0, 0x82, 0xFF, 0xFF, 0xFF, 0xFF, 0x83] + [0, 0, 0, 0, 0, 0, 0xF0, 0x3F])
        ),
        ("strings-twice.ts", file(new("@"), null, new("@"), null, reference(1), null)),
        ("roots.ts", file(new("i"), [1], new("@i"), null, [2], reference(0), [3])),
        ("cycle.ts", file(new("@"), object("A"), reference(0), reference(0), end, reference(0), reference(0))),
        (
            "names.ts",
            file(new("*"), [0x84] + new("a"), new(":%#"), reference(1), null, null, reference(0), reference(0))
        ),
        ("structs.ts", file(new("{P={ff}[2{?=s!}]}[3c][0@][5!]"), [1, 2, 3, 4, 0x84, 0x85, 0x86])),
    ]

    /// Files that break a rule of the format.
    package static let broken: [(name: String, bytes: [UInt8])] =
        [
            ("no-signature.ts", [4, 11] + Array("streamtype".utf8)),
            ("cut-system.ts", Array(file().dropLast())),
            ("cut-number.ts", file(new("i"), [0x81, 1])),
            ("no-end.ts", file(new("@"), object("A"), reference(0), null)),
            ("nil-type.ts", file(null)),
            ("empty-type.ts", file(new(""))),
            ("end.ts", file(end)),
            ("string-2g.ts", file(new("+"), [0x82, 0xFF, 0xFF, 0xFF, 0x7F])),
            ("string-negative.ts", file(new("+"), [0xFF])),
            ("label-ahead.ts", file(new("@"), reference(0))),
            ("label-below.ts", file(new("@"), [0x81, 0, 0x80])),
            ("class-as-object.ts", file(new("@"), object("A"), end, reference(0), reference(1))),
            ("object-as-class.ts", file(new("@"), [0x84], reference(0), end)),
            ("c-string-zero.ts", file(new("*"), [0x84] + new("a\u{0}"))),
            ("boolean-2.ts", file(new("B"), [2])),
            ("no-such-tag.ts", file(new("i"), [0x88])),
            ("bits-in-integer.ts", file(new("i"), [0x83, 0, 0, 0, 0])),
            ("array-2g.ts", file(new("[2147483647c]"), [1])),
            ("array-4g.ts", file(new("[4294967296i]"), [1])),
        ]
        + [
            "^i", "?", "(u=if)", "b3", "ri", "[i]", "[3]", "{a=i", "i}", "[2i", "[2ii]", "]", "@\"A\"",
            "[99999999999999999999!]",
        ]
        .map { (name: "type-\($0).ts", bytes: file(new($0), [1, 1, 1, 1])) }
}
