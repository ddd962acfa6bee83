#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Converts a finished compact body to an archive in Apple's layout, in one pass.
///
/// Objects stay objects. Other values, except numbers, become objects of the Foundation classes that represent them.
/// `Codable` values become dictionaries and arrays of plain values, as `encodeEncodable(_:forKey:)` writes them.
struct AppleWriter {
    /// The nodes that all objects of one shape share.
    struct ObjectShape {
        let keys: [UInt32]
        /// The node with the UID of the class record.
        let type: UInt32
    }

    var builder: PlistBuilder
    var source: ByteSource
    let shapes: [Shape]
    let limits: ArchiveLimits
    /// Large data that is not part of the body, in order.
    let blobs: [Blob]
    /// Where each body begins; empty unless the class of some object is `Codable` but not `ObjectCoding`.
    private var bodies: [Int] = []
    /// Where the bodies of those objects begin, by object number.
    var plainBodies: [Int: Int] = [:]
    /// The node of each object of the archive; 0 until it is written.
    var objects: [UInt32] = []
    /// For each object of the body its index in `objects` plus one, or 0 while it has none.
    private var indexes: [UInt32]
    var objectLimit: Int { indexes.count }
    /// For each node its index in `objects` plus one, or 0 if it is not an object.
    private var objectsOfNodes: [UInt32] = []
    private var classRecords: [String: UInt32] = [:]
    private var objectShapes: [ObjectShape?]
    private var fieldNames: [StaticName: UInt32] = [:]
    private var nullObject: UInt32?
    var nesting: Nesting

    private init(
        _ body: ByteSource, _ shapes: [Shape], _ blobs: [Blob], _ limits: ArchiveLimits, objectCount: Int
    ) {
        source = body
        self.shapes = shapes
        self.blobs = blobs
        self.limits = limits
        builder = PlistBuilder(limits: limits)
        nesting = Nesting(limits, more: 16, bytes: nil)
        indexes = [UInt32](repeating: 0, count: objectCount)
        objectShapes = [ObjectShape?](repeating: nil, count: shapes.count)
    }

    /// Writes the archive of a finished encoder.
    static func write(_ encoder: ObjectEncoder) throws -> ArchivePieces {
        let body = ByteSource(encoder.output.bytes)
        var writer = AppleWriter(
            body, encoder.shapes, encoder.tables.blobs, encoder.limits, objectCount: encoder.tables.objects.count)
        defer { writer.builder.deallocate() }
        try writer.findPlainBodies(encoder)
        return try writer.write { encoder.superclasses(of: $0) }
    }

    /// Writes the archive of a graph; the superclasses of its classes are unknown.
    ///
    /// - Parameters:
    ///   - body: The values at the top, then the objects' bodies in their order.
    ///   - blobs: Large data that is not part of the body.
    static func write(
        body: UnsafeRawBufferPointer, blobs: [Blob], shapes: [Shape], objectCount: Int, limits: ArchiveLimits
    ) throws -> ArchivePieces {
        var writer = AppleWriter(ByteSource(body), shapes, blobs, limits, objectCount: objectCount)
        defer { writer.builder.deallocate() }
        return try writer.write { _ in [] }
    }

    private mutating func write(_ superclasses: (Int) -> [String]) throws -> ArchivePieces {
        objects.append(try builder.string("$null"))
        guard try source.byte() == Tag.record else { throw ArchiveError(.corrupt, "the archive has no keys") }
        let top = try roots()
        for number in 0..<indexes.count {
            if !bodies.isEmpty {
                if plainBodies[number] != nil { continue }
                source.seek(to: bodies[number])
            }
            let index = Int(index(of: number))
            do {
                objects[index] = try body { superclasses(number) }
            } catch {
                throw ArchiveError.wrapping(error, at: .index(number))
            }
        }
        let keys = [
            try builder.string("$archiver"), try builder.string("$objects"), try builder.string("$top"),
            try builder.string("$version"),
        ]
        let values = [
            try builder.string(KeyedLayout.archiver), try builder.array(objects), top,
            try builder.integer(Int64(KeyedLayout.version)),
        ]
        let whole = try builder.dictionary(keys, values)
        return try builder.finish(top: whole)
    }

    // MARK: Objects

    /// The index in the archive of an object of the body.
    mutating func index(of number: Int) -> UInt32 {
        if indexes[number] == 0 {
            objects.append(0)
            indexes[number] = UInt32(objects.count)
        }
        return indexes[number] - 1
    }

    func shape(_ source: inout ByteSource) throws -> (shape: Shape, number: Int) {
        let number = Int(try source.fixed(UInt16.self))
        guard number < shapes.count else { throw ArchiveError(.corrupt, "a shape that is not in the archive") }
        return (shapes[number], number)
    }

    private mutating func roots() throws -> UInt32 {
        let (shape, _) = try shape(&source)
        var keys: [UInt32] = []
        var values: [UInt32] = []
        try eachField(shape) { writer, key in
            keys.append(try writer.builder.string(key))
            values.append(try writer.field())
        }
        return try builder.dictionary(keys, values)
    }

    /// Calls `body` for each key of a record, to write the key's value.
    mutating func eachField(_ shape: Shape, _ body: (inout AppleWriter, String) throws -> Void) throws {
        guard shape.layout == .explicit else {
            for key in shape.keyNames {
                do { try body(&self, key) } catch { throw ArchiveError.wrapping(error, at: .key(key)) }
            }
            return
        }
        for _ in 0..<(try source.length()) {
            let key = try source.stringValue(limits)
            do { try body(&self, key) } catch { throw ArchiveError.wrapping(error, at: .key(key)) }
        }
    }

    /// Writes the next body as an object.
    private mutating func body(_ superclasses: () -> [String]) throws -> UInt32 {
        let (shape, number) = try shape(&source)
        guard shape.kind == .object else { throw ArchiveError(.corrupt, "an object with the shape of a value") }
        let known: ObjectShape
        if let found = objectShapes[number] {
            known = found
        } else {
            known = try objectShape(shape, superclasses())
            objectShapes[number] = known
        }
        var keys = known.keys
        var values: [UInt32] = []
        values.reserveCapacity(keys.count)
        switch shape.layout {
        case .keyed:
            for index in 0..<shape.keyCount {
                do { values.append(try field()) } catch {
                    throw ArchiveError.wrapping(error, at: .key(shape.keys[index]))
                }
            }
        case .explicit:
            let type = keys.removeLast()
            for _ in 0..<(try source.length()) {
                let key = try source.stringValue(limits)
                keys.append(try builder.string(key))
                do { values.append(try field()) } catch { throw ArchiveError.wrapping(error, at: .key(key)) }
            }
            keys.append(type)
        case .single:
            keys.insert(try name("$single"), at: 0)
            values.append(try field())
        }
        values.append(known.type)
        return try builder.dictionary(keys, values)
    }

    private mutating func objectShape(_ shape: Shape, _ superclasses: [String]) throws -> ObjectShape {
        var keys: [UInt32] = []
        for key in shape.keyNames { keys.append(try builder.string(key)) }
        keys.append(try name("$class"))
        let record = try classRecord(shape.name, superclasses, version: shape.version)
        return ObjectShape(keys: keys, type: try builder.uid(UInt64(record)))
    }

    /// The index of a class record, which is written on first use.
    mutating func classRecord(_ name: String, _ superclasses: [String], version: Int = 0) throws -> UInt32 {
        let id = version == 0 ? name : "\(name) \(version)"
        if let known = classRecords[id] { return known }
        let index = UInt32(objects.count)
        objects.append(0)
        classRecords[id] = index
        var names: [UInt32] = []
        for name in [name] + superclasses + ["NSObject"] { names.append(try builder.string(name)) }
        var keys = [try builder.string("$classname"), try builder.string("$classes")]
        var values = [names[0], try builder.array(names)]
        if version != 0 {
            keys.append(try builder.string(ArchivedClass.versionKey))
            values.append(try builder.integer(Int64(version)))
        }
        objects[Int(index)] = try builder.dictionary(keys, values)
        return index
    }

    // MARK: Nodes

    /// A field name that is a constant of this program, identified by its address.
    struct StaticName: Hashable {
        let address: UInt
    }

    /// The node of a name.
    mutating func name(_ text: StaticString) throws -> UInt32 {
        let key = StaticName(address: UInt(bitPattern: text.utf8Start))
        if let known = fieldNames[key] { return known }
        let bytes = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        let node = try builder.ascii(bytes)
        fieldNames[key] = node
        return node
    }

    /// The index of the object for a plain node; equal values share one object.
    mutating func object(of node: UInt32) -> UInt32 {
        let place = Int(node)
        if place >= objectsOfNodes.count {
            objectsOfNodes.append(contentsOf: repeatElement(0, count: max(place + 1 - objectsOfNodes.count, place)))
        }
        if objectsOfNodes[place] == 0 {
            objects.append(node)
            objectsOfNodes[place] = UInt32(objects.count)
        }
        return objectsOfNodes[place] - 1
    }

    /// Adds an object of a Foundation class.
    mutating func add(_ type: String, _ superclasses: [String] = [], _ fields: [(StaticString, UInt32)]) throws
        -> UInt32
    {
        var keys: [UInt32] = []
        var values: [UInt32] = []
        for (key, value) in fields {
            keys.append(try name(key))
            values.append(value)
        }
        keys.append(try name("$class"))
        values.append(try builder.uid(UInt64(try classRecord(type, superclasses))))
        objects.append(try builder.dictionary(keys, values))
        return UInt32(objects.count - 1)
    }

    /// The index of the `NSNull` object that represents nil inside containers.
    mutating func null() throws -> UInt32 {
        if let nullObject { return nullObject }
        let made = try add("NSNull", [], [])
        nullObject = made
        return made
    }

    mutating func uid(_ index: UInt32) throws -> UInt32 { try builder.uid(UInt64(index)) }
}

extension AppleWriter {
    /// Finds the bodies of objects whose class is `Codable` but not `ObjectCoding`; they are written at each use.
    fileprivate mutating func findPlainBodies(_ encoder: ObjectEncoder) throws {
        var isPlain: [Bool] = []
        encoder.tables.objects.forEach { kind, _ in
            if case .plain = kind { isPlain.append(true) } else { isPlain.append(false) }
        }
        guard isPlain.contains(true) else { return }
        var lengths = ByteSource(encoder.tables.lengths.bytes)
        var start = encoder.state.valuesEnd
        var blob = 0
        var blobBytes = 0
        for number in isPlain.indices {
            // Positions include large data, which is stored elsewhere.
            while blob < blobs.count, blobs[blob].position + blobBytes < start {
                blobBytes += blobs[blob].bytes.count
                blob += 1
            }
            bodies.append(start - blobBytes)
            if isPlain[number] { plainBodies[number] = start - blobBytes }
            start += Int(try lengths.varint())
        }
    }
}

extension ObjectEncoder {
    /// The names of an encoded object's superclasses, nearest first.
    func superclasses(of number: Int) -> [String] {
        let object = tables.objects[number]
        guard object is any ObjectCoding else { return [] }
        var names: [String] = []
        var type: AnyClass? = _getSuperclass(Swift.type(of: object))
        while let next = type, names.count < 64 {
            if let coding = next as? any ObjectCoding.Type {
                names.append(classes.names[ObjectIdentifier(next)] ?? coding.className)
            } else {
                names.append(unqualifiedName(of: next))
            }
            type = _getSuperclass(next)
        }
        return names.filter { $0 != "NSObject" }
    }
}
