import KeyedArchive
import Testing

/// The types of a first version, as its programs declare them.
private enum Old {
    struct Job: Codable, Equatable {
        var path: String
        var mode: Mode
        var shapes: [Shape]
    }

    enum Mode: String, OpenEnum {
        case fast
        case unknown
    }

    enum Level: Int, OpenEnum {
        case low = 1
        case unknown = 0
    }

    enum Shape: OpenEnum, Equatable {
        case circle(radius: Double)
        case unknown
    }

    final class Holder: Codable {
        let shape: Shape
        init(_ shape: Shape) { self.shape = shape }
        // The object has the form of its only value.
        init(from decoder: any Decoder) throws { shape = try decoder.singleValueContainer().decode(Shape.self) }
        func encode(to encoder: any Encoder) throws { try shape.encode(to: encoder) }
    }
}

/// The types of the same names in the next version.
private enum New {
    struct Job: Codable, Equatable {
        var path: String
        var mode: Mode
        var shapes: [Shape]
        @Defaulted<Retries> var retries = Retries.defaultValue
        @Defaulted<Default.Empty<[String]>> var tags = []
        @Defaulted<Default.EmptyDictionary<String, Int>> var weights = [:]
        @Defaulted<Default.EmptySet<Int>> var days = []
        @Defaulted<Default.True> var isUrgent = false
        @Defaulted<Default.False> var isQuiet = true
        @Defaulted<Default.Zero<Double>> var cost = 1
        @Defaulted<Limit> var limit = 1
        @Defaulted<Style> var style = .bold
        var note: String?

        enum Retries: DefaultValue {
            static let defaultValue = 3
        }

        enum Limit: DefaultValue {
            static var defaultValue: Int? { 10 }
        }
    }

    enum Style: String, Codable, DefaultValue {
        case plain, bold
        static let defaultValue = Style.plain
    }

    enum Mode: String, OpenEnum {
        case fast, exact
        case unknown
    }

    enum Level: Int, OpenEnum {
        case low = 1
        case high = 2
        case unknown = 0
    }

    enum Shape: OpenEnum, Equatable {
        case circle(radius: Double)
        case square(side: Double)
        case unknown
    }

    final class Holder: Codable {
        let shape: Shape
        init(_ shape: Shape) { self.shape = shape }
        init(from decoder: any Decoder) throws { shape = try decoder.singleValueContainer().decode(Shape.self) }
        func encode(to encoder: any Encoder) throws { try shape.encode(to: encoder) }
    }
}

@Suite("Values of different versions")
struct VersionTests {
    @Test("A field that is missing has its default, with each coder", arguments: CodableDoor.allCases)
    func missingFields(_ door: CodableDoor) throws {
        let old = Old.Job(path: "a", mode: .fast, shapes: [.circle(radius: 1)])
        let read = try door.pass([old], as: [New.Job].self)
        var expected = New.Job(path: "a", mode: .fast, shapes: [.circle(radius: 1)])
        expected.isUrgent = true
        expected.isQuiet = false
        expected.cost = 0
        expected.limit = 10
        expected.style = .plain
        #expect(read == [expected])
        #expect(expected.retries == 3 && expected.tags == [] && expected.days == [] && expected.weights == [:])
    }

    @Test("A field that is there is read, and older programs skip it, with each coder", arguments: CodableDoor.allCases)
    func fieldsInVersion(_ door: CodableDoor) throws {
        let new = New.Job(
            path: "a", mode: .fast, shapes: [.circle(radius: 1)], retries: 7, tags: ["x", "y"], weights: ["x": 2],
            days: [4], isUrgent: true, isQuiet: true, cost: 2.5, limit: 5, style: .bold, note: "z")
        #expect(try door.pass(new, as: New.Job.self) == new)
        #expect(try door.pass(new, as: Old.Job.self) == Old.Job(path: "a", mode: .fast, shapes: [.circle(radius: 1)]))
    }

    @Test("A field is written as its plain value", arguments: CodableDoor.allCases)
    func formInVersion(_ door: CodableDoor) throws {
        struct Marked: Codable, Equatable { @Defaulted<New.Job.Retries> var count = 1 }
        struct Plain: Codable, Equatable { var count: Int }
        #expect(try door.pass(Marked(count: 3), as: Plain.self) == Plain(count: 3))
        #expect(try door.pass(Plain(count: 4), as: Marked.self) == Marked(count: 4))
        #expect(try door.pass([Defaulted<New.Job.Retries>(wrappedValue: 5)], as: [Int].self) == [5])
        #expect(try door.pass([6], as: [Defaulted<New.Job.Retries>].self).map(\.wrappedValue) == [6])
        #expect("\(Marked(count: 3))".contains("_count: 3"))
    }

    @Test("A nil is the default, except for an optional", arguments: CodableDoor.allCases)
    func nils(_ door: CodableDoor) throws {
        struct Optionals: Codable {
            var count: Int?
            var limit: Int?
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encodeNil(forKey: .count)
                try container.encodeNil(forKey: .limit)
            }
        }
        struct Fields: Codable, Equatable {
            @Defaulted<New.Job.Retries> var count = 1
            @Defaulted<New.Job.Limit> var limit = 1
        }
        // Property lists have no nil: Foundation's coder writes a string for it.
        guard !CodableDoor.propertyLists.contains(door) else { return }
        #expect(try door.pass(Optionals(), as: Fields.self) == Fields(count: 3, limit: nil))
        #expect(try door.pass(Fields(count: 2, limit: nil), as: Fields.self) == Fields(count: 2, limit: nil))
    }

    /// Reads a field with a call that does not know its type.
    private struct Generic<Field: Decodable>: Decodable {
        var count: Field

        enum CodingKeys: CodingKey { case count }

        init(from decoder: any Decoder) throws {
            count = try decoder.container(keyedBy: CodingKeys.self).decode(Field.self, forKey: .count)
        }
    }

    @Test("A field that a generic function decodes has its default, too", arguments: CodableDoor.ours)
    func genericFields(_ door: CodableDoor) throws {
        struct Nothing: Codable {}
        struct Nil: Codable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyCodingKey.self)
                try container.encodeNil(forKey: "count")
            }
        }
        typealias Count = Defaulted<New.Job.Retries>
        typealias Limit = Defaulted<New.Job.Limit>
        #expect(try door.pass(Nothing(), as: Generic<Count>.self).count.wrappedValue == 3)
        #expect(try door.pass(Nothing(), as: Generic<Limit>.self).count.wrappedValue == 10)
        #expect(try door.pass(Nil(), as: Generic<Count>.self).count.wrappedValue == 3)
        #expect(try door.pass(Nil(), as: Generic<Limit>.self).count.wrappedValue == nil)
        #expect(try door.pass(["count": 5], as: Generic<Count>.self).count.wrappedValue == 5)
        #expect(throws: ArchiveError.self) { try door.pass(Nothing(), as: Generic<Int>.self) }
    }

    @Test("A view has the default of a field that is missing")
    func views() throws {
        let old = Old.Job(path: "a", mode: .fast, shapes: [])
        let view = try KeyedUnarchiver.unarchive(GraphView<New.Job>.self, from: KeyedArchiver.archive(old))
        #expect(try view["retries", as: Defaulted<New.Job.Retries>.self].wrappedValue == 3)
        #expect(try view["path"] == "a")
        #expect(try view["mode", as: New.Mode.self] == .fast)
    }

    @Test("A field of another type is an error that names it", arguments: CodableDoor.ours)
    func wrongField(_ door: CodableDoor) throws {
        struct Wrong: Codable { var count = "three" }
        struct Marked: Codable { @Defaulted<New.Job.Retries> var count = 1 }
        let error = #expect(throws: ArchiveError.self) { try door.pass([Wrong()], as: [Marked].self) }
        #expect(error?.steps.suffix(2) == [.index(0), .key("count")], "\(error as Any)")
    }

    @Test("A case of a later version is unknown, and what stands beside it is read", arguments: CodableDoor.ours)
    func unknownCases(_ door: CodableDoor) throws {
        let new = New.Job(path: "a", mode: .exact, shapes: [.square(side: 2), .circle(radius: 1), .square(side: 3)])
        let old = Old.Job(path: "a", mode: .unknown, shapes: [.unknown, .circle(radius: 1), .unknown])
        #expect(try door.pass(new, as: Old.Job.self) == old)
        #expect(try door.pass([New.Level.high, .low], as: [Old.Level].self) == [.unknown, .low])
        #expect(try door.pass([1: New.Mode.exact], as: [Int: Old.Mode].self) == [1: .unknown])
        #expect(try door.pass([New.Mode.exact, nil], as: [Old.Mode?].self) == [.unknown, nil])
        #expect(try door.pass(Set([New.Mode.exact, .fast]), as: Set<Old.Mode>.self) == [.unknown, .fast])
        #expect(try door.pass([New.Mode.exact: 1, .fast: 2], as: [Old.Mode: Int].self) == [.unknown: 1, .fast: 2])
        // The way back: all that an older program writes is known.
        #expect(try door.pass(old, as: New.Job.self).shapes == [.unknown, .circle(radius: 1), .unknown])
    }

    @Test("A value that is a case of a later version is unknown", arguments: CodableDoor.ours)
    func unknownRoot(_ door: CodableDoor) throws {
        #expect(try door.pass(New.Mode.exact, as: Old.Mode.self) == .unknown)
        #expect(try door.pass(New.Shape.square(side: 1), as: Old.Shape.self) == .unknown)
    }

    @Test("An object in the form of a case of a later version is unknown", arguments: CodableDoor.ours)
    func unknownBody(_ door: CodableDoor) throws {
        let holders = [New.Holder(.square(side: 1)), New.Holder(.circle(radius: 2))]
        let read = try door.pass(holders, as: [Old.Holder].self)
        #expect(read.map(\.shape) == [.unknown, .circle(radius: 2)])
    }

    @Test("A value of a case that is optional may be added", arguments: CodableDoor.allCases)
    func optionalValue(_ door: CodableDoor) throws {
        enum First: Codable, Equatable { case circle(radius: Double) }
        enum Second: Codable, Equatable { case circle(radius: Double, colour: String?) }
        #expect(try door.pass(First.circle(radius: 1), as: Second.self) == .circle(radius: 1, colour: nil))
        #expect(try door.pass(Second.circle(radius: 1, colour: "red"), as: First.self) == .circle(radius: 1))
    }

    @Test("A field may become wider, and one with a default may have been optional", arguments: CodableDoor.allCases)
    func otherTypes(_ door: CodableDoor) throws {
        struct First: Codable, Equatable {
            var size: Int32
            var count: Int?
        }
        struct Second: Codable, Equatable {
            var size: Int
            @Defaulted<New.Job.Retries> var count = 1
        }
        #expect(try door.pass(First(size: 5, count: nil), as: Second.self) == Second(size: 5, count: 3))
        #expect(try door.pass(First(size: 5, count: 2), as: Second.self) == Second(size: 5, count: 2))
        #expect(try door.pass(Second(size: 5, count: 4), as: First.self) == First(size: 5, count: 4))
    }

    @Test("Wrong values of a known case, and what is no case, stay errors", arguments: CodableDoor.ours)
    func wrongCases(_ door: CodableDoor) throws {
        enum Wrong: Codable { case circle(radius: String) }
        enum Other: Codable { case circle(diameter: Double) }
        struct Two: Codable { var square = ["side": 1.0], triangle = ["side": 1.0] }
        struct Nothing: Codable {}
        #expect(throws: ArchiveError.self) { try door.pass(Wrong.circle(radius: "1"), as: Old.Shape.self) }
        #expect(throws: ArchiveError.self) { try door.pass(Other.circle(diameter: 1), as: Old.Shape.self) }
        #expect(throws: ArchiveError.self) { try door.pass(Two(), as: Old.Shape.self) }
        #expect(throws: ArchiveError.self) { try door.pass(Nothing(), as: Old.Shape.self) }
        #expect(throws: ArchiveError.self) { try door.pass("circle", as: Old.Shape.self) }
        #expect(throws: ArchiveError.self) { try door.pass(1.5, as: Old.Mode.self) }
        #expect(throws: ArchiveError.self) { try door.pass("1", as: Old.Level.self) }
        #expect(throws: ArchiveError.self) { try door.pass([New.Mode.exact: 1, .fast: 2], as: [Old.Level: Int].self) }
    }

    @Test("An enum that is not open throws for a case of a later version", arguments: CodableDoor.ours)
    func closedInVersion(_ door: CodableDoor) throws {
        enum Closed: String, Codable { case fast }
        let error = #expect(throws: ArchiveError.self) { try door.pass([New.Mode.exact], as: [Closed].self) }
        #expect(error?.code == .thrownByType && error?.steps.last == .index(0), "\(error as Any)")
    }
}
