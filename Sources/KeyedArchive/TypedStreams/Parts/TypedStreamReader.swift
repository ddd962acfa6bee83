/// A place in a typedstream from which groups or values can be read.
struct TypedStreamPlace {
    let index: TypedStreamIndex
    let position: Int
    /// The label of the next object, class or C string that stands in full.
    let nextLabel: Int
}

/// Reads a typedstream from one part to the next, without recursion.
///
/// The first pass checks everything and makes the index. Its memory grows with the number of objects that are open at a
/// time, 16 bytes for each, and its time with the size of the file: see `allowance` and `owed`.
struct TypedStreamReader {
    enum Pass {
        /// The first one, which checks the stream and fills the index.
        case opening
        /// Again through everything, after it was checked.
        case copying
        /// Within the groups of one object or of the stream, past the objects inside.
        case viewing
    }

    private enum State {
        /// In front of a group, or the end of an object or the stream.
        case betweenGroups
        /// In front of a value.
        case inGroup
        /// In front of the class of an object.
        case classOfObject
        /// In front of a class or superclass, as part of an object's class or as a value.
        case superclass(isOfObject: Bool)
    }

    /// A group that waits for the end of an object inside of it.
    struct WaitingGroup: BitwiseCopyable {
        let at: UInt32
        let end: UInt32
        let depth: UInt32
        let valueCount: UInt32
    }

    /// An array whose elements are being read.
    struct OpenArray: BitwiseCopyable {
        let element: UInt32
        /// The place of its closing bracket.
        let close: UInt32
        var remaining: UInt32
    }

    let index: TypedStreamIndex
    let pass: Pass
    let limits: ArchiveLimits
    var source: TypedStreamSource
    private var state = State.betweenGroups
    var isBetweenGroups: Bool { if case .betweenGroups = state { true } else { false } }
    /// The place in the type string of the group, and its end.
    var at = 0
    var typeEnd = 0
    /// The structures and arrays that are open in the type string.
    var depth = 0
    /// The values of the innermost object, or of the stream, up to the one being read.
    var valueCount = 0
    /// The innermost object that is open; only in the first pass.
    var openObject: Int?
    private var openCount = 0
    var nextLabel: Int
    private var nextString = 0
    /// The groups around the open objects.
    private var waiting: Column<WaitingGroup>?
    var arrays: [OpenArray] = []
    /// The encodings of the elements of arrays inside one another, and the part of the file in which they are known.
    var elements: [TypedStreamType.Scan.Element] = []
    var elementRange = 0..<0
    /// The bytes that the open groups and objects still need; more than there are is an error.
    ///
    /// So neither a large array nor many arrays in open objects can promise many more values than the file has bytes. A
    /// few are let through, because the place where a cut file ends says more.
    private var owed = 0
    private static let mostMissing = 4096
    /// The characters of type strings that may still be read.
    ///
    /// A group takes one byte in the file and may name a type of thousands of structures without a value. Ordinary files
    /// use two or three characters a byte.
    private var allowance: Int

    static let charactersPerByte = 64
    static let leastAllowance = 1 << 20

    /// A reader of the whole stream.
    ///
    /// - Parameter position: The place of the first group.
    init(_ index: TypedStreamIndex, _ pass: Pass, at position: Int, limits: ArchiveLimits = ArchiveLimits()) {
        self.index = index
        self.pass = pass
        source = index.source(at: position)
        source.notes = pass == .copying
        self.limits = limits
        nextLabel = 0
        allowance = Self.leastAllowance + Self.charactersPerByte * index.bytes.bytes.count
        if pass != .viewing { waiting = Column() }
    }

    /// A reader of the groups from a place on, or of the values of one group.
    init(viewing place: TypedStreamPlace, _ type: Range<Int>? = nil) {
        self.init(place.index, .viewing, at: place.position)
        nextLabel = place.nextLabel
        guard let type else { return }
        at = type.lowerBound
        typeEnd = type.upperBound
        state = .inGroup
    }

    /// A reader of an object that was checked, at its class.
    init(viewing label: Int, in index: TypedStreamIndex) {
        self.init(viewing: TypedStreamPlace(index: index, position: index.offset(label) + 1, nextLabel: label + 1))
        state = .classOfObject
    }

    /// The place where the reader is.
    var place: TypedStreamPlace { TypedStreamPlace(index: index, position: source.position, nextLabel: nextLabel) }

    /// The next part; nil at the end of the stream, or of the object to view.
    mutating func next() throws -> TypedStreamToken? {
        guard pass == .opening else { return try step() }
        do { return try step() } catch let error as ArchiveError { throw located(error) }
    }

    private mutating func step() throws -> TypedStreamToken? {
        switch state {
        case .betweenGroups: return try groupOrEnd()
        case .inGroup: return try value()
        case .classOfObject:
            state = .superclass(isOfObject: true)
            return try type(isOfObject: true)
        case .superclass(let isOfObject): return try type(isOfObject: isOfObject)
        }
    }

    // MARK: Groups

    private mutating func groupOrEnd() throws -> TypedStreamToken? {
        guard let next = source.next else {
            if openCount > 0 { throw TypedStreamSource.ended("a type string or the end of an object") }
            return nil
        }
        if next == TypedStreamTag.end {
            if pass == .viewing { return nil }
            guard openCount > 0 else {
                throw ArchiveError(.corrupt, "expected a type string, found the end of an object where none is open")
            }
            return endObject()
        }
        let start = source.position
        guard let text = try sharedString("a type string") else {
            throw ArchiveError(.corrupt, "expected a type string, found nil")
        }
        guard !text.range.isEmpty else { throw ArchiveError(.corrupt, "expected a type string, found an empty one") }
        at = text.range.lowerBound
        typeEnd = text.range.upperBound
        let type = TypedStreamType(start: at, end: typeEnd, number: text.number, isNew: text.isNew)
        if pass == .opening {
            owed += try least(of: type, at: start)
            try use(text.range.count)
            try expectOwed()
        }
        state = .inGroup
        return .group(type)
    }

    /// - Parameter start: The place of the type string, or of the reference to it.
    private mutating func least(of type: TypedStreamType, at start: Int) throws -> Int {
        if let least = index.least(ofType: type.number) { return least }
        var scan = TypedStreamType.Scan(source, from: type.start, to: type.end)
        let least: Int
        do { least = try scan.group() } catch {
            // The error names the place of the encoding. Where the string stands elsewhere, as the name of a class, the
            // reference is wrong.
            source.seek(to: type.isNew ? scan.at : start)
            guard !type.isNew, let error = error as? ArchiveError else { throw error }
            throw ArchiveError(error.code, "\(error.message), in the string \(type.number) that is referred to")
        }
        index.setLeast(least, ofType: type.number)
        return least
    }

    private func expectOwed() throws {
        guard owed <= source.remaining + Self.mostMissing else {
            throw ArchiveError(
                .truncated, "expected at least \(owed) bytes more for what has begun, found \(source.remaining)")
        }
    }

    /// Takes characters of type strings from the allowance.
    mutating func use(_ characters: Int) throws {
        guard pass == .opening else { return }
        allowance -= characters
        guard allowance >= 0 else {
            throw ArchiveError(
                .limit,
                "the type strings of groups and of elements of arrays, each counted where it is used, are more than "
                    + "\(Self.charactersPerByte) times the archive")
        }
    }

    mutating func endGroup() -> TypedStreamToken {
        state = .betweenGroups
        return .endGroup
    }

    // MARK: Objects

    /// An object that stands in full, behind its tag, which was at `offset`.
    mutating func newObject(at offset: Int) throws -> TypedStreamToken {
        let label = nextLabel
        if pass == .viewing {
            source.seek(to: index.end(label))
            nextLabel = index.next(label)
            return .reference(label)
        }
        waiting?.append(
            WaitingGroup(
                at: UInt32(at), end: UInt32(typeEnd), depth: UInt32(depth),
                valueCount: UInt32(truncatingIfNeeded: valueCount)))
        if pass == .opening {
            try expectRoom()
            index.openObject(at: offset, in: openObject)
            // Its class and its end.
            owed += 2
            try expectOwed()
            openObject = label
        }
        openCount += 1
        nextLabel += 1
        valueCount = 0
        depth = 0
        state = .classOfObject
        return .object(label)
    }

    private mutating func endObject() -> TypedStreamToken {
        _ = source.take(TypedStreamTag.end)
        if pass == .opening, let label = openObject {
            openObject = index.closeObject(label, end: source.position)
            owed -= 1
        }
        openCount -= 1
        if let group = waiting?.popLast() {
            at = Int(group.at)
            typeEnd = Int(group.end)
            depth = Int(group.depth)
            valueCount = Int(group.valueCount)
        }
        state = .inGroup
        return .endObject
    }

    private func expectRoom() throws {
        guard nextLabel < limits.objects else { throw ArchiveError(.limit, "more than \(limits.objects) objects") }
    }

    // MARK: Classes

    /// A value of `#`: the class and its superclasses.
    mutating func classValue() throws -> TypedStreamToken {
        guard pass == .viewing else {
            state = .superclass(isOfObject: false)
            owed += 1
            return try type(isOfObject: false)
        }
        guard source.next == TypedStreamTag.new else { return try classReference() }
        let label = nextLabel
        while source.take(TypedStreamTag.new) {
            _ = try sharedString("the name of a class")
            _ = try source.number("the version of a class")
            nextLabel += 1
        }
        _ = try classReference()
        return .reference(label)
    }

    /// A class that stands in full, or the end of the chain of superclasses: a reference or nil.
    private mutating func type(isOfObject: Bool) throws -> TypedStreamToken {
        let offset = source.position
        guard source.take(TypedStreamTag.new) else {
            let token = try classReference()
            owed -= 1
            state = isOfObject ? .betweenGroups : .inGroup
            return token
        }
        let label = nextLabel
        if pass == .opening {
            try expectRoom()
            index.appendClass(at: offset)
        }
        nextLabel += 1
        guard let name = try sharedString("the name of a class") else {
            throw ArchiveError(.corrupt, "expected the name of a class, found nil")
        }
        let version = try source.number("the version of a class")
        if pass == .opening { index.setEnd(ofClass: label, source.position) }
        return .type(label, name: name, version: version)
    }

    private mutating func classReference() throws -> TypedStreamToken {
        source.take(TypedStreamTag.null) ? .null : .reference(try reference(to: .type, "a class"))
    }

    // MARK: References

    /// A reference to a label that was read.
    mutating func reference(to kind: TypedStreamIndex.Kind, _ what: StaticString) throws -> Int {
        let start = source.position
        let number = try source.number(what).value
        let (label, isOutside) = number.subtractingReportingOverflow(TypedStreamTag.leastHead)
        if pass == .viewing { return Int(label) }
        guard !isOutside, label >= 0, label < Int64(nextLabel) else {
            source.seek(to: start)
            throw ArchiveError(
                .corrupt, "expected \(what), found the label \(isOutside ? number : label) of \(nextLabel)")
        }
        let found = index.kind(Int(label))
        guard found == kind else {
            source.seek(to: start)
            let name =
                switch found {
                case .object: "an object"
                case .type: "a class"
                case .cString: "a C string"
                }
            throw ArchiveError(.corrupt, "expected \(what), found the label \(label), which is \(name)")
        }
        return Int(label)
    }

    /// A shared string, new or by its number; nil if the tag for nil is there.
    mutating func sharedString(_ what: StaticString) throws -> TypedStreamSharedString? {
        if source.take(TypedStreamTag.null) { return nil }
        guard source.take(TypedStreamTag.new) else { return try knownString(what) }
        let offset = source.position
        guard let range = try source.unshared(what, limit: limits.string) else {
            throw ArchiveError(.corrupt, "expected \(what), found a new string that is nil")
        }
        guard pass != .viewing else { return TypedStreamSharedString(range: range, number: -1, isNew: true) }
        if pass == .opening {
            index.appendString(at: offset, hasZero: source.hasZero(in: range))
        }
        nextString += 1
        return TypedStreamSharedString(range: range, number: nextString - 1, isNew: true)
    }

    private mutating func knownString(_ what: StaticString) throws -> TypedStreamSharedString {
        let start = source.position
        let value = try source.number(what).value
        let (number, isOutside) = value.subtractingReportingOverflow(TypedStreamTag.leastHead)
        let count = pass == .viewing ? index.stringCount : nextString
        guard !isOutside, number >= 0, number < Int64(count) else {
            source.seek(to: start)
            throw ArchiveError(
                .corrupt, "expected \(what), found the string \(isOutside ? value : number) of \(count)")
        }
        let range = try source.string(at: index.offset(ofString: Int(number)))
        return TypedStreamSharedString(range: range, number: Int(number), isNew: false)
    }

    /// A C string that stands in full, behind its tag, which was at `offset`.
    mutating func newCString(at offset: Int) throws -> TypedStreamToken {
        let label = nextLabel
        if pass == .opening {
            try expectRoom()
            index.appendCString(at: offset)
        }
        nextLabel += 1
        guard let text = try sharedString("the text of a C string") else {
            throw ArchiveError(.corrupt, "expected the text of a C string, found nil")
        }
        if pass == .opening, index.hasZero(string: text.number) {
            throw ArchiveError(.corrupt, "a C string with a zero inside")
        }
        return pass == .viewing ? .reference(label) : .cString(label, text)
    }

    /// The bytes of one value were read, so many fewer are owed.
    mutating func pay(_ count: Int) { owed -= count }
}
