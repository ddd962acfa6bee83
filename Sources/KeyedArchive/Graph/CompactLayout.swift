/// An archive in the compact format; objects are read from it on demand.
///
/// `init` checks all objects once, so reading cannot fail.
// Immutable after `init`: the table of bodies is only asked in a way that does not change it.
final class CompactLayout: @unchecked Sendable {
    let objectCount: Int
    /// The top-level values, with large `Data` lent.
    let roots: ArchivedRecord
    /// The header, if the archive holds a graph in Apple's layout.
    let keyed: KeyedCompact.Top?
    private let owner: ArchiveBytes
    private let shapes: [Shape]
    private let bodies: BodyTable
    private let limits: ArchiveLimits
    /// Whether values are nested so deep that recursion over them needs a stack segment.
    let isDeep: Bool

    init(_ owner: ArchiveBytes, limits: ArchiveLimits) throws {
        let (shapes, body) = try CompactFile.parse(owner.bytes, limits: limits)
        var source = ByteSource(body)
        var bodies = try BodyTable(&source, limits: limits)
        let count = bodies.count
        var deepestMet = 0
        do {
            var check = GraphCheck(shapes: shapes, objectCount: count, limits: limits, bytes: body.count)
            try check.roots(source)
            // Read only after the check: memory is allocated only for what is present.
            var reader = GraphReader(shapes: shapes, objectCount: count, limits: limits, lender: owner)
            roots = try reader.roots(source)
            for number in 0..<count { try check.object(number, bodies.body(number)) }
            if KeyedCompact.isTop(roots), check.deepestMet > Self.deepestKeyed { throw limits.tooDeep }
            deepestMet = check.deepestMet
            keyed = try KeyedCompact.top(roots)
            if keyed != nil { try Self.checkClasses(&bodies, shapes, limits) }
        } catch {
            bodies.deallocate()
            throw error
        }
        isDeep = deepestMet > StackSegment.values
        self.owner = owner
        self.shapes = shapes
        self.bodies = bodies
        self.limits = limits
        objectCount = count
    }

    /// The most levels of values in Apple's layout, whose writers nest a quarter of that at most.
    private static let deepestKeyed = 96

    deinit { bodies.deallocate() }

    /// The object with a number.
    ///
    /// - Parameter lends: Whether its bytes are lent; see `Data.init(lending:owner:)`.
    func object(_ number: Int, lends: Bool) -> ArchivedObject {
        var reader = GraphReader(
            shapes: shapes, objectCount: objectCount, limits: limits, lender: lends ? owner : nil)
        guard let record = try? reader.object(number, bodies.fixedBody(number)) else { return .value(.null) }
        return keyed == nil ? .instance(record) : KeyedCompact.object(record)
    }

    /// Checks the objects of a graph of Apple's layout: what each is, and that each instance has a class.
    private static func checkClasses(_ bodies: inout BodyTable, _ shapes: [Shape], _ limits: ArchiveLimits) throws {
        var kinds = [KeyedCompact.Kind](repeating: .value, count: bodies.count)
        func located<T>(_ number: Int, _ body: () throws -> T) throws -> T {
            do { return try body() } catch { throw ArchiveError.wrapping(error, at: .index(number)) }
        }
        for number in kinds.indices {
            var body = bodies.body(number)
            kinds[number] = try located(number) {
                let shape = try body.shape(.object, shapes)
                return try KeyedCompact.kind(shape, body, limits)
            }
        }
        for number in kinds.indices where kinds[number] == .instance {
            var body = bodies.body(number)
            try located(number) {
                let shape = try body.shape(.object, shapes)
                let type = try KeyedCompact.classIndex(shape, body, limits)
                guard kinds.indices.contains(type), kinds[type] == .classRecord else {
                    throw ArchiveError(.corrupt, "an object whose class is not a class record")
                }
            }
        }
    }
}
