import Foundation
import FoundationCoding
import KeyedArchive
import Testing

@Suite("Archives of others")
struct FixtureTests {
    @Test("Values agree with what an independent decoder found", .enabled(if: Fixtures.areThere, Fixtures.comment))
    func expected() throws {
        let rows = try Fixtures.expected()
        #expect(rows.count == 36)
        for (file, text) in rows {
            do {
                let unarchiver = try NSCodingUnarchiver(forReadingFrom: try Fixtures.data("real", file))
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

    /// Files of Foundation's classes, and the class of their root.
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

    @Test("Archives of Foundation's classes open into them", .enabled(if: Fixtures.areThere, Fixtures.comment))
    func foundationClasses() throws {
        var opened = 0
        for (name, data) in try Fixtures.files("real")
        where name.hasPrefix("swift-core") || name.contains("gnustep") || name.contains("Affine") {
            guard let type = Self.classes.last(where: { name.contains($0.0) })?.1 else { continue }
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
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
        let file = try #require(try Fixtures.files("real").first { $0.name.contains(name) })
        return try NSCodingUnarchiver.unarchiveObject(with: file.data) as? NSObject
    }

    @Test("Some of them in detail", .enabled(if: Fixtures.areThere, Fixtures.comment))
    func details() throws {
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

    @Test(
        "No archive, real or broken, traps or hangs, whatever is asked of it",
        .enabled(if: Fixtures.areThere, Fixtures.comment))
    func none() throws {
        for folder in ["real", "malformed"] {
            for (name, data) in try Fixtures.files(folder) {
                let start = computingTime()
                Door.open(data)
                let time = computingTime() - start
                #expect(time / Effort.unit < Effort.bound, "\(name): \(time)")
            }
        }
    }

    @Test("No broken archive takes more than 64 MiB", .enabled(if: Fixtures.areThere, Fixtures.comment))
    func memory() async throws {
        await #expect(processExitsWith: .success) {
            let files = try Fixtures.files("malformed")
            #expect(files.count == 229)
            for (name, data) in files {
                let growth = PeakMemory.growth { Door.open(data) }
                #expect(growth < 64 << 20, "\(name): \(growth >> 20) MiB")
            }
        }
    }
}
