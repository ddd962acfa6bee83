/// Where the bodies of an archive's objects lie.
///
/// An archive has only their lengths. These are added up once, to be checked, and every sixteenth sum is kept; those
/// between are added up again when they are asked for:
///
///     lengths    0B 0C 0C 0D ... 0B | 0C 0C 0B ...
///     places     ^ of object 0        ^ of object 16: where its length stands and where its body begins
///
/// That takes a byte per object. A table of all bodies would take eight, as much as a small body.
struct BodyTable {
    /// An object's length and body, as distances from where the archive begins.
    private struct Place {
        var length = 0
        var body = 0
    }

    /// The places of every 2-to-this-power-th object are kept.
    private static let shift = 4

    /// The number of objects.
    private(set) var count = 0
    private let base: UnsafeRawPointer
    private let end: Int
    private var first = Place()
    /// The places of the objects 16, 32 and so on.
    private var others: UnsafeMutablePointer<Place>?
    /// The object asked for next if they are asked for in order.
    private var next = 0
    private var nextPlace = Place()

    /// A table of no objects.
    init() {
        let nothing = ByteSource(UnsafeRawBufferPointer(start: nil, count: 0))
        base = nothing.base
        end = 0
    }

    /// Reads the header of an archive's body, and checks that the lengths are those of the bytes present.
    ///
    /// - Parameter source: The body of an archive; left where its values are, which end at `source.end` afterwards.
    /// - Throws: `ArchiveError`; there is nothing to deallocate then.
    init(_ source: inout ByteSource, limits: ArchiveLimits) throws {
        base = source.base
        end = source.end
        // An object takes a byte for its length and two for its shape.
        count = try source.count(eachAtLeast: 3, limit: limits.objects, "objects")
        let values = try source.varint()
        first.length = source.position
        do {
            let sum = try addUp(&source)
            guard values <= UInt64(source.remaining) else { throw ByteSource.truncated() }
            first.body = source.position + Int(values)
            guard sum == end - first.body else {
                throw sum > end - first.body
                    ? ByteSource.truncated() : ArchiveError(.corrupt, "bytes after the archive")
            }
        } catch {
            others?.deallocate()
            throw error
        }
        source = ByteSource(base: base, position: source.position, end: first.body)
        nextPlace = first
    }

    func deallocate() { others?.deallocate() }

    /// Reads the lengths and keeps some of the sums; returns the last.
    private mutating func addUp(_ source: inout ByteSource) throws -> Int {
        if count > 1 << Self.shift { others = .allocate(capacity: (count - 1) >> Self.shift) }
        var sum = 0
        var number = 0
        while number < count {
            if number > 0, let others {
                (others + (number >> Self.shift - 1)).initialize(to: Place(length: source.position, body: sum))
            }
            let stop = min(number &+ 1 << Self.shift, count)
            while number < stop {
                let length = try source.length()
                guard length >= 2 else { throw ArchiveError(.corrupt, "an object without a shape") }
                sum &+= length
                guard sum <= end else { throw ByteSource.truncated() }
                number &+= 1
            }
        }
        return sum
    }

    /// The body of an object; fastest in order.
    @inline(__always)
    mutating func body(_ number: Int) -> ByteSource {
        if number != next { nextPlace = place(number) }
        next = number &+ 1
        return step(&nextPlace)
    }

    /// The body of an object, without changing the table, for use by several threads.
    func fixedBody(_ number: Int) -> ByteSource {
        var place = place(number)
        return step(&place)
    }

    @inline(never)
    private func place(_ number: Int) -> Place {
        precondition(number >= 0 && number < count, "an object that is not in the table")
        var place = first
        if let others, number >> Self.shift > 0 {
            place = others[number >> Self.shift - 1]
            // The lengths had to be read before it was known where the bodies begin.
            place.body += first.body
        }
        for _ in 0..<(number & (1 << Self.shift - 1)) { _ = step(&place) }
        return place
    }

    /// The body at a place, which moves to the object that follows.
    @inline(__always)
    private func step(_ place: inout Place) -> ByteSource {
        var lengths = ByteSource(base: base, position: place.length, end: end)
        let start = place.body
        // It was read before, so it cannot fail. Should the bytes have changed since, it still must not lead out of the
        // archive.
        let length = Int(truncatingIfNeeded: (try? lengths.varint()) ?? 0)
        let stop = length >= 0 && length <= end &- start ? start &+ length : start
        place = Place(length: lengths.position, body: stop)
        return ByteSource(base: base, position: start, end: stop)
    }
}
