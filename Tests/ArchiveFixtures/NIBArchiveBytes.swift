/// NIBArchives put together byte by byte, as no archiver writes them.
package enum NIBArchiveBytes {
    /// A table: its parts, and the count and the place that the header names for it, if these are wrong.
    package struct Table {
        var parts: [[UInt8]]
        var count: UInt32?
        var offset: UInt32?

        package init(_ parts: [[UInt8]], count: UInt32? = nil, offset: UInt32? = nil) {
            self.parts = parts
            self.count = count
            self.offset = offset
        }
    }

    package static func file(
        format: UInt32 = 1, coder: UInt32 = 9, objects: Table = Table([object(0, 0, 0)]), keys: Table = Table([]),
        values: Table = Table([]), classes: Table = Table([type("NSObject")])
    ) -> [UInt8] {
        var header = Array("NIBArchive".utf8) + number(format) + number(coder)
        var body: [UInt8] = []
        for table in [objects, keys, values, classes] {
            header += number(table.count ?? UInt32(table.parts.count))
            header += number(table.offset ?? UInt32(50 + body.count))
            body += table.parts.flatMap(\.self)
        }
        return header + body
    }

    /// A number of four bytes.
    package static func number(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// A number of as many bytes as it needs, with a mark in the last.
    package static func varint(_ value: Int) -> [UInt8] {
        value < 128 ? [UInt8(value) | 0x80] : [UInt8(value & 0x7F)] + varint(value >> 7)
    }

    package static func object(_ type: Int, _ first: Int, _ count: Int) -> [UInt8] {
        varint(type) + varint(first) + varint(count)
    }

    package static func key(_ name: String) -> [UInt8] { varint(name.utf8.count) + Array(name.utf8) }

    package static func value(_ key: Int, _ kind: UInt8, _ content: [UInt8] = []) -> [UInt8] {
        varint(key) + [kind] + content
    }

    package static func type(_ name: String, _ fallbacks: [UInt32] = []) -> [UInt8] {
        varint(name.utf8.count + 1) + varint(fallbacks.count) + fallbacks.flatMap(number) + Array(name.utf8) + [0]
    }

    /// An archive with each kind of value, an array and a string.
    package static let mixed = file(
        objects: Table([object(0, 0, 11), object(1, 11, 4), object(2, 15, 1)]),
        keys: Table(["a", "root", "NSInlinedValue", "UINibEncoderEmptyKey", "NS.bytes"].map(key)),
        values: Table([
            value(0, 0, [0xFF]), value(0, 1, [0, 1]), value(0, 2, [0, 0, 0, 0x80]),
            value(0, 3, [7, 0, 0, 0, 0, 0, 0, 0]),
            value(0, 4), value(0, 5), value(0, 6, [0, 0, 0x80, 0x3F]), value(0, 7, [0, 0, 0, 0, 0, 0, 0xF8, 0x7F]),
            value(0, 8, [0x82, 1, 2]), value(0, 9), value(1, 10, number(1)),
            value(2, 5), value(3, 10, number(2)), value(3, 10, number(2)), value(3, 9), value(4, 8, key("é")),
        ]), classes: Table([type("NSObject"), type("NSArray", [0]), type("NSString")]))

    // MARK: Files for tests where those of others are not at hand

    /// Files that open.
    package static let good: [(name: String, bytes: [UInt8])] = [
        ("least.nib", file()), ("mixed.nib", mixed), ("coder-10.nib", file(coder: 10)),
        ("no-objects.nib", file(objects: Table([]), classes: Table([]))),
        ("fallback-loop.nib", file(classes: Table([type("A", [1]), type("B", [0])]))),
        (
            "shared-values.nib",
            file(
                objects: Table([object(0, 0, 1), object(0, 0, 1)]), keys: Table([key("a")]),
                values: Table([value(0, 9)]))
        ),
    ]

    /// Files that break a rule of the format.
    package static let broken: [(name: String, bytes: [UInt8])] = [
        ("cut-header.nib", Array(file().prefix(49))), ("cut.nib", Array(mixed.dropLast())),
        ("format-2.nib", file(format: 2)), ("coder-11.nib", file(coder: 11)),
        ("objects-4g.nib", file(objects: Table([], count: .max))),
        ("keys-4g.nib", file(keys: Table([], count: .max))), ("values-4g.nib", file(values: Table([], count: .max))),
        ("offset-in-header.nib", file(keys: Table([], offset: 10))),
        ("offset-in-objects.nib", file(keys: Table([key("a")], offset: 51))),
        ("offset-behind-end.nib", file(classes: Table([type("A")], offset: 4000))),
        ("class.nib", file(objects: Table([object(1, 0, 0)]))),
        ("value-range.nib", file(objects: Table([object(0, 0, 1)]))),
        ("value-range-4g.nib", file(objects: Table([object(0, 0xFFFF_FFFF, 0xFFFF_FFFF)]))),
        ("key.nib", file(keys: Table([key("a")]), values: Table([value(1, 9)]))),
        ("type-11.nib", file(keys: Table([key("a")]), values: Table([value(0, 11)]))),
        ("reference.nib", file(keys: Table([key("a")]), values: Table([value(0, 10, number(1))]))),
        ("data-2g.nib", file(keys: Table([key("a")]), values: Table([value(0, 8, varint(0x7FFF_FFFF))]))),
        ("fallback.nib", file(classes: Table([type("A", [1])]))),
        ("fallback-negative.nib", file(classes: Table([type("A", [0xFFFF_FFFF])]))),
        ("no-zero.nib", file(classes: Table([[0x81, 0x80, 0x41]]))),
        ("no-name.nib", file(classes: Table([[0x80, 0x80]]))),
        (
            "values-of-all.nib",
            file(
                objects: Table([[UInt8]](repeating: object(0, 0, 400), count: 200)), keys: Table([key("a")]),
                values: Table([[UInt8]](repeating: value(0, 9), count: 400)))
        ),
        ("varint-endless.nib", file(objects: Table([[UInt8](repeating: 0, count: 100)], count: 1))),
    ]
}
