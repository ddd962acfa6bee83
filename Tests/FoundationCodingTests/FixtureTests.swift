import ArchiveFixtures
import Foundation
import FoundationCoding
import KeyedArchive
import TestSupport
import Testing

@Suite("Archives of others, or our own in their place")
struct FixtureTests {
    @Test("Values agree with what an independent decoder found")
    func expectedInFixtureOfFoundation() throws {
        let expected = try Fixtures.expected()
        #expect(Fixtures.isCount(expected.count, ofOthers: 36, own: 36))
        for (archive, text) in expected {
            let file = archive.name
            do {
                let unarchiver = try NSCodingUnarchiver(forReadingFrom: archive.data)
                unarchiver.requiresSecureCoding = false
                let key = try #require(unarchiver.keys.first)
                let object = unarchiver.decodeObject(forKey: key)
                if let error = unarchiver.error { throw error }
                #expect(CanonicalText.text(object) == text, "\(file)")
            } catch {
                Issue.record("\(file): \(error)")
            }
        }
    }

    /// Files with Foundation classes, and the class of their root.
    static let classes: [(String, AnyClass)] = [
        ("ByteCountFormatter", ByteCountFormatter.self), ("DateIntervalFormatter", DateIntervalFormatter.self),
        ("ISO8601DateFormatter", ISO8601DateFormatter.self), ("NSCountedSet", NSCountedSet.self),
        ("NSIndexPath", NSIndexPath.self), ("NSIndexSet", NSIndexSet.self), ("ArrayTest", NSArray.self),
        ("ConcreteValueTest", NSValue.self), ("EdgeInsetsTest", NSValue.self),
        ("NotificationTest", NSNotification.self),
        ("OrderedSet", NSOrderedSet.self), ("RangeTest", NSValue.self), ("RectTest", NSValue.self),
        ("URLTest", NSURL.self), ("UUIDTest", NSUUID.self), ("NSMeasurement", NSMeasurement.self),
        ("NSMutableIndexSet", NSMutableIndexSet.self), ("NSMutableSet", NSMutableSet.self), ("NSSet", NSSet.self),
        ("NSTextCheckingResult", NSTextCheckingResult.self), ("gnustep-attrstring", NSAttributedString.self),
        ("gnustep-calendardate", NSDate.self), ("gnustep-countedset", NSCountedSet.self),
        ("gnustep-decimalnumber", NSDecimalNumber.self), ("gnustep-error", NSError.self),
        ("gnustep-indexset", NSIndexSet.self), ("gnustep-notification", NSNotification.self),
        ("gnustep-timezone", NSTimeZone.self), ("gnustep-url-base", NSURL.self),
        ("NSAffineTransform", NSAffineTransform.self),
    ]

    @Test("Archives of Foundation's classes open into them")
    func foundationClasses() throws {
        var opened = 0
        for archive in try Fixtures.real().map(\.archive) {
            let name = archive.name
            let isOfClass = ["swift-core", "gnustep", "Affine"].contains { name.contains($0) } || !Fixtures.areOfOthers
            guard isOfClass, let type = Self.classes.last(where: { name.contains($0.0) })?.1 else { continue }
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: archive.data)
            unarchiver.requiresSecureCoding = false
            let object = unarchiver.decodeObject(forKey: "root") as? NSObject
            #expect(unarchiver.error == nil, "\(name): \(unarchiver.error.map { "\($0)" } ?? "")")
            let isKind = object.map { Self.isKind($0, of: type) } ?? false
            #expect(isKind, "\(name)")
            opened += 1
        }
        #expect(opened >= 50)
    }

    private static func isKind(_ object: NSObject, of type: AnyClass) -> Bool {
        var current: AnyClass? = Swift.type(of: object)
        while let known = current {
            if known == type { return true }
            current = _getSuperclass(known)
        }
        return false
    }

    private func root(_ name: String) throws -> NSObject? {
        try NSCodingUnarchiver.unarchiveObject(with: Fixtures.real(named: name).data) as? NSObject
    }

    @Test("Some of them in detail")
    func detailsInFixture() throws {
        #expect(try root("gnustep-decimalnumber") == NSDecimalNumber(string: "1.25"))
        #expect((try root("gnustep-timezone") as? NSTimeZone)?.secondsFromGMT == 0)
        let error = try #require(try root("gnustep-error") as? NSError)
        #expect((error.domain, error.code, error.userInfo["i"] as? String) == ("dom", -3, "u"))
        #expect((try root("gnustep-url-base") as? NSURL)?.absoluteString == "http://example.com/x/a/b")
        let counted = try #require(try root("gnustep-countedset") as? NSCountedSet)
        #expect((counted.count(for: "y"), counted.count(for: "x")) == (1, 2))
        #expect(try root("gnustep-indexset") == NSIndexSet(indexesIn: NSRange(location: 3, length: 4)))
        let path = try root("NSIndexPath-ManyIndices")
        #expect(path == NSIndexPath(indexes: [4, 8, 15, 16, 23, 42], length: 6))
        let measurement = try #require(try root("NSMeasurement-Angle") as? NSMeasurement)
        #expect(measurement.doubleValue == 90)
        #expect(measurement.unit.symbol == "°")
        let value = try #require(try root("ConcreteValueTest") as? NSValue)
        var numbers: [Int32] = [0, 0, 0]
        numbers.withUnsafeMutableBytes { value.getValue($0.baseAddress!) }
        #expect(numbers == [1, 2, 3])
        let match = try #require(try root("ComplexRegex") as? NSTextCheckingResult)
        #expect(match.numberOfRanges == 9)
        #expect(match.range(at: 1) == NSRange(location: 1, length: 8))
        let transform = try #require(try root("NSAffineTransform") as? NSAffineTransform)
        #expect(abs(transform.transformStruct.m11 - 0.9636) < 0.001)
    }

    @Test("No archive, real or broken, traps or hangs, whatever is decoded from it")
    func noneInFixture() throws {
        for archive in try Fixtures.real().map(\.archive) + Fixtures.malformed() {
            let start = computingTime()
            Door.open(archive.data)
            let time = computingTime() - start
            #expect(time / Effort.unit < Effort.bound, "\(archive.name): \(time)")
        }
    }

    @Test(
        "No broken archive takes more than 64 MiB",
        .disabled(if: Sanitizer.isActive, "sanitizers need more memory than that"))
    func memoryInFixture() async throws {
        await #expect(processExitsWith: .success) {
            let archives = try Fixtures.malformed()
            #expect(Fixtures.isCount(archives.count, ofOthers: 229, own: 200))
            for archive in archives {
                let growth = PeakMemory.growth { Door.open(archive.data) }
                #expect(growth < 64 << 20, "\(archive.name): \(growth >> 20) MiB")
            }
        }
    }
}
