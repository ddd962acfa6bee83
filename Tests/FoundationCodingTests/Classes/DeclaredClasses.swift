import Foundation

/// The classes that the shared libraries of the toolchain declare, whether the program can name them or not.
///
/// Swift's compiler lists each type of a library in a section of the file, from which the runtime finds types by name.
enum DeclaredClasses {
    /// The `NSCoding` classes of all libraries of the toolchain that are loaded, by their full names.
    static func coding() throws -> [String: AnyClass] {
        var classes: [String: AnyClass] = [:]
        for library in try loadedLibraries() {
            for type in try declared(in: library) where type is any NSCoding.Type {
                classes[String(reflecting: type)] = type
            }
        }
        return classes
    }

    private struct Library {
        let path: String
        let address: UInt
    }

    private struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }

    /// The libraries of this process that are in the folder of Foundation's.
    private static func loadedLibraries() throws -> [Library] {
        // Each line: the range of addresses, rights, offset, device, inode, path.
        // Read in pieces, because its size is announced as 0.
        let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps")).readToEnd() ?? Data()
        let lines = String(decoding: maps, as: UTF8.self).split(separator: "\n")
        var libraries: [Library] = []
        for line in lines {
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count == 6, fields[2].allSatisfy({ $0 == "0" }), fields[5].contains(".so"),
                let address = fields[0].split(separator: "-").first.flatMap({ UInt($0, radix: 16) })
            else { continue }
            libraries.append(Library(path: fields[5].trimmingCharacters(in: .whitespaces), address: address))
        }
        guard let foundation = libraries.first(where: { $0.path.hasSuffix("/libFoundation.so") }) else {
            throw Unreadable(description: "libFoundation.so is not loaded")
        }
        let folder = foundation.path.dropLast("libFoundation.so".count)
        return libraries.filter { $0.path.hasPrefix(folder) }
    }

    // MARK: Type records

    private static let sections: Set<String> = ["swift5_type_metadata", "swift5_type_metadata_2"]

    private static func declared(in library: Library) throws -> [AnyClass] {
        let file = try Data(contentsOf: URL(fileURLWithPath: library.path), options: .alwaysMapped)
        return try file.withUnsafeBytes { file in
            try sectionHeaders(file).filter { sections.contains($0.name) }
                .flatMap { section in
                    stride(from: 0, to: section.size, by: 4)
                        .compactMap { type(record: library.address + section.address + UInt($0)) }
                }
        }
    }

    private static func sectionHeaders(
        _ file: UnsafeRawBufferPointer
    ) throws -> [(name: String, address: UInt, size: Int)] {
        func number<T: FixedWidthInteger>(_ offset: Int, _: T.Type) -> Int {
            Int(file.loadUnaligned(fromByteOffset: offset, as: T.self))
        }
        guard file.count > 64, file.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else {
            throw Unreadable(description: "not a library of 64 bits")
        }
        let (table, size) = (number(0x28, UInt64.self), number(0x3A, UInt16.self))
        let count = number(0x3C, UInt16.self)
        func header(_ index: Int) -> Int { table + index * size }
        let names = number(header(number(0x3E, UInt16.self)) + 0x18, UInt64.self)
        return (0..<count).map { index in
            let name = file[(names + number(header(index), UInt32.self))...].prefix { $0 != 0 }
            return (
                String(decoding: name, as: UTF8.self), UInt(number(header(index) + 0x10, UInt64.self)),
                number(header(index) + 0x20, UInt64.self)
            )
        }
    }

    /// The class of a record; nil if it is of another type, or of a generic class.
    private static func type(record: UInt) -> AnyClass? {
        func word(_ address: UInt) -> Int32 { UnsafePointer<Int32>(bitPattern: address)?.pointee ?? 0 }
        func target(_ address: UInt, _ offset: Int32) -> UInt {
            UInt(bitPattern: Int(bitPattern: address) + Int(offset))
        }
        // The lowest bits say whether the descriptor itself is there, or its address.
        let offset = word(record)
        var descriptor = target(record, offset & ~3)
        if offset & 3 == 1 { descriptor = UnsafePointer<UInt>(bitPattern: descriptor)?.pointee ?? 0 }
        guard descriptor != 0, offset & 3 <= 1 else { return nil }
        let flags = word(descriptor)
        let (isClass, isGeneric) = (flags & 0x1F == 16, flags & 0x80 != 0)
        guard isClass, !isGeneric, word(descriptor + 12) != 0 else { return nil }
        typealias Accessor = @convention(c) (Int) -> UnsafeRawPointer
        let accessor = unsafeBitCast(target(descriptor + 12, word(descriptor + 12)), to: Accessor.self)
        return unsafeBitCast(accessor(0), to: Any.Type.self) as? AnyClass
    }
}
