import KeyedArchive

/// What `References` needs from outside: proxies for the peer's objects, and the root directory.
protocol ReferenceHost: AnyObject {
    /// A proxy for an object of the peer.
    associatedtype Proxy: AnyObject

    /// The root directory, which returns the roots to the peer, and its messages.
    ///
    /// The conversation asks for the directory when the peer first names it.
    var rootDirectory: (object: AnyObject, messages: Unmanaged<ClassMessages>) { get }

    /// Makes a proxy for an object of the peer that has none.
    ///
    /// - Parameter described: The object's class, if the peer describes it.
    func makeProxy(for id: ObjectID, of described: DescribedClass?) -> Proxy
    /// Notes the class of a proxy's object, unless it is known.
    static func describe(_ proxy: Proxy, as described: DescribedClass)
    /// What an object in a table of references is to this connection.
    func entry(of object: AnyObject) -> TableEntry
}

/// The tables for objects of this side.
struct ExportTables: ~Copyable, MadeOnDemand {
    var exports = ExportTable()
    var classes = OutboundInterning<UnsafeRawPointer>()
}

/// The tables for objects of the peer.
struct ImportTables<Proxy: AnyObject>: ~Copyable, MadeOnDemand {
    var imports = ImportTable<Proxy>()
    var classes = InboundInterning<DescribedClass>()
}

/// The objects that the two sides refer to, and the classes and shapes that they have described.
///
/// Each table is made when it is first needed.
struct References<Host: ReferenceHost>: ~Copyable {
    typealias Proxy = Host.Proxy

    private var own = LazyBox<ExportTables>()
    private var peers = LazyBox<ImportTables<Proxy>>()
    /// Nil before the first shape.
    private var shapes: ShapeTables?

    /// The objects of this process that the peer may refer to.
    var exports: ExportTable {
        @inline(__always) mutating _read { yield own.value.exports }
        @inline(__always) _modify { yield &own.value.exports }
    }
    /// The objects of the peer that this side refers to.
    var imports: ImportTable<Proxy> {
        @inline(__always) mutating _read { yield peers.value.imports }
        @inline(__always) _modify { yield &peers.value.imports }
    }
    private var shapeTables: ShapeTables {
        mutating get {
            if let shapes { return shapes }
            let made = ShapeTables()
            shapes = made
            return made
        }
    }

    /// Whether an object was ever referred to.
    var isUsed: Bool { own.isMade || peers.isMade }
    /// The number of objects that the peer refers to, without the root directory.
    var exportCount: Int { own.read { $0.exports.count } ?? 0 }
    /// Whether the peer refers to an object that is none of these, and is not the directory of roots.
    func exports(besides roots: Set<ObjectIdentifier>) -> Bool {
        own.read { own in
            own.exports.all.contains { $0.id != .rootDirectory && !roots.contains(ObjectIdentifier($0.object)) }
        } ?? false
    }
    /// The number of objects of the peer that this side refers to.
    var importCount: Int { peers.read { $0.imports.count } ?? 0 }

    func isExported(_ object: AnyObject) -> Bool { own.read { $0.exports.contains(object) } ?? false }

    // MARK: Objects of this side

    /// The object of this side that the peer names.
    @inline(__always)
    mutating func export(_ id: ObjectID, _ host: Host) throws(ProtocolViolation) -> Export {
        // The table is read without an accessor: an accessor that is not inlined allocates its coroutine frame.
        if let known = own.read({ $0.exports[id] }) ?? nil { return known }
        return try exportRoots(id, host)
    }

    /// The root directory is exported when the peer first names it: many peers never do.
    @inline(never)
    private mutating func exportRoots(_ id: ObjectID, _ host: Host) throws(ProtocolViolation) -> Export {
        if id.slot == ObjectID.rootDirectory.slot, !exports.hasRoots {
            let roots = host.rootDirectory
            exports.exportRoots(roots.object, messages: roots.messages)
        }
        return try exports.resolve(id)
    }

    /// Writes a mention of an object of this process, with the object's class if there is room for the class.
    ///
    /// - Parameter classBytes: The bytes that the classes of this message may still take.
    mutating func writeMention(of object: AnyObject, _ classBytes: inout Int, _ outbox: inout Outbox) {
        let messages = ClassMessages.known(object)
        let id = exports.mention(object, messages: messages, number: outbox.written + 1)
        // The peer has known the root directory from the start.
        let mayHaveClass = classBytes > 0 && id != .rootDirectory
        let naming = mayHaveClass ? classReference(messages, within: classBytes) : .inline
        if case .inline = naming { return Reference.senders(id).append(to: &outbox) }
        Reference.described(id).append(to: &outbox)
        let idEnd = outbox.count
        if case .known(let number) = naming {
            ClassEntry.append(known: number, to: &outbox)
        } else {
            messages._withUnsafeGuaranteedRef {
                ClassEntry.append(new: $0.described?.definition ?? [], to: &outbox)
            }
        }
        classBytes -= outbox.count - idEnd
    }

    /// How a class is named in a table of references: by its number, or with its description; `.inline` if it is not named.
    private mutating func classReference(_ messages: Unmanaged<ClassMessages>, within room: Int) -> Naming {
        guard room > 10 else { return .inline }
        let key = UnsafeRawPointer(messages.toOpaque())
        // The size is asked for only where the class is new. A class that has no room gets no number either.
        return own.value.classes.reference(
            to: key, taking: messages._withUnsafeGuaranteedRef { $0.described?.definition.count ?? .max },
            within: room - 10)
    }

    /// Enters the peer's release of objects.
    ///
    /// - Parameter free: Is called with each object that the peer no longer refers to.
    mutating func receive(
        _ frame: ReleaseFrame, after sent: UInt64, free: (Export) -> Void
    ) throws(ProtocolViolation) {
        guard frame.entered <= sent else {
            throw ProtocolViolation(.unknownName, "a Release names a frame that was never sent")
        }
        try frame.forEachObject { (id) throws(ProtocolViolation) in
            if let freed = try exports.release(id, entered: frame.entered) { free(freed) }
        }
    }

    // MARK: Objects of the peer

    /// The proxy for an object of the peer.
    @inline(__always)
    mutating func proxy(
        _ id: ObjectID, of described: DescribedClass? = nil, _ host: Host
    ) throws(ProtocolViolation) -> Proxy {
        if id.slot == ObjectID.rootDirectory.slot {
            // The root directory is known from the start and never released, so it has no table entry.
            guard id == .rootDirectory else {
                throw ProtocolViolation(.outOfStep, "the root directory was named by another generation")
            }
            // All mentions share one proxy, because a message may name the root directory some thousand times.
            return imports.rootProxy { host.makeProxy(for: id, of: nil) }
        }
        let proxy = try imports.proxy(for: id) { host.makeProxy(for: id, of: described) }
        if let described { Host.describe(proxy, as: described) }
        return proxy
    }

    /// The proxy for an object of the peer whose class follows its id.
    mutating func describedProxy(
        _ id: ObjectID, _ reader: inout WireReader, _ host: Host
    ) throws(ProtocolViolation) -> Proxy {
        guard id != .rootDirectory else {
            throw ProtocolViolation(.unknownName, "the class of a reference was named without an agreement")
        }
        switch try ClassEntry(reading: &reader) {
        case .known(let number): return try proxy(id, of: peers.value.classes[number], host)
        case .new(let definition):
            let described = DescribedClass.of(definition)
            try peers.value.classes.append(described, taking: definition.count)
            return try proxy(id, of: described, host)
        }
    }

    /// Writes Release frames for objects of the peer that this side no longer refers to.
    ///
    /// - Parameter entered: The number of the last frame that this side has entered. It belongs to the ids of a frame: no frame
    ///   is entered between reading the two.
    mutating func writeReleases(of dead: DyingReferences, entered: UInt64, _ outbox: inout Outbox) {
        guard let first = dead.first else { return }
        if dead.rest.isEmpty {
            if imports.releaseOne(first) { Self.writeRelease(of: CollectionOfOne(first), entered, &outbox) }
            return
        }
        var rest = ([first] + dead.rest)[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(ProtocolLimits.referencesInMessage)
            rest = rest.dropFirst(chunk.count)
            let released = chunk.filter { imports.releaseOne($0) }
            if !released.isEmpty { Self.writeRelease(of: released, entered, &outbox) }
        }
    }

    private static func writeRelease(
        of objects: some Collection<ObjectID>, _ entered: UInt64, _ outbox: inout Outbox
    ) {
        ReleaseFrame.append(entered: entered, objects, to: &outbox)
        outbox.finish(.release)
    }

    // MARK: Shapes

    /// Reads the shapes of a message.
    ///
    /// - Returns: The shapes, and the error of the first one that cannot be read.
    mutating func readShapes(
        _ reader: inout WireReader, limits: ArchiveLimits
    ) throws(ProtocolViolation) -> (shapes: PackedShapes, fault: ArchiveError?) {
        if reader.skipZeros(1) { return (.none, nil) }
        return try PackedShapes.enter(&reader, shapeTables.received(limits))
    }

    /// Writes the shapes of a message.
    ///
    /// This is the only place that assigns numbers to shapes.
    mutating func writeShapes(of encoder: ObjectEncoder, _ outbox: inout Outbox) {
        outbox.append(encoder.shapeCount)
        encoder.forEachShape { shape in
            switch shapeTables.sent.reference(to: shape, taking: shape.definition.count) {
            case .known(let number):
                outbox.append(UInt64(number) + 2)
            case .new:
                outbox.append(byte: 0)
                outbox.append(definition: shape.definition)
            case .inline:
                outbox.append(byte: 1)
                outbox.append(definition: shape.definition)
            }
        }
    }

    // MARK: The end

    /// Empties the tables of objects.
    ///
    /// - Returns: The objects of this side that the peer referred to, and the calls that still wait in their mailboxes.
    mutating func removeAll() -> (exports: [Export], calls: [InboundCall]) {
        if peers.isMade { imports.removeAll() }
        return own.isMade ? exports.removeAll() : ([], [])
    }
}
