import Foundation
import FoundationCoding
import FoundationNetworking
import KeyedArchive
import Testing

@Suite("The table of Foundation's classes")
struct ClassTableTests {
    private static func open(_ sample: ClassSample, as name: String? = nil) throws -> NSObject? {
        var graph = sample.graph
        var index = sample.index
        if let name {
            index = graph.add(className: name, fields: [])
            let record = graph.objects[sample.index].record
            let fields = zip(record?.storedKeys ?? [], record?.values ?? []).map { (key: $0.0, value: $0.1) }
            try graph.replace(index, with: graph.objects[index].with(fields))
        }
        graph.setRoots(ArchivedRecord(typeName: "", storedKeys: ["root"], values: [.reference(index)]))
        return try NSCodingUnarchiver.unarchiveObject(with: Data(graph.bytes(format: .binary))) as? NSObject
    }

    @Test("An archive of each class that can be made opens into an object of the class")
    func made() throws {
        let samples = try ClassSamples.all()
        let truth = FoundationClassTests.truth
        for name in ClassList.made {
            let own = samples.filter { $0.type == name }
            #expect(!own.isEmpty, "\(name) has no sample")
            for sample in own {
                let object = try #require(try Self.open(sample))
                let isOfClass =
                    String(reflecting: type(of: object)) == name
                    || String(reflecting: object.classForCoder as Any.Type) == name || type(of: object) == truth
                #expect(isOfClass || object is NSTextCheckingResult, "\(name) became \(type(of: object))")
            }
        }
    }

    @Test("The other classes are refused, under each of their names and with the content of a class like them")
    func refusedInClassTable() throws {
        let samples = try ClassSamples.all()
        let models = ["NSString", "NSArray", "NSDictionary", "NSSet", "NSCharacterSet", "NSNumber", "DateFormatter"]
        for name in ClassList.refused {
            let plain = String(name.drop { $0 != "." }.dropFirst())
            for sample in samples where models.contains(where: { sample.type == "Foundation.\($0)" }) {
                for name in [name, plain] where !Self.isAlias(name) {
                    #expect(throws: ArchiveError.self, "\(name)") { try Self.open(sample, as: name) }
                }
            }
        }
    }

    /// Whether a name stands for another class, as archives of Apple's systems use it.
    private static func isAlias(_ name: String) -> Bool {
        name.hasPrefix("NS") && name.hasSuffix("RegularExpressionCheckingResult")
    }

    @Test("The error names the class, in secure mode too", arguments: ["NSOrthography", "DateComponentsFormatter"])
    func message(name: String) throws {
        var graph = ArchivedGraph(archiver: "NSKeyedArchiver")
        let index = graph.add(className: name, fields: [])
        graph.setRoot(.reference(index), forKey: "root")
        let data = Data(try graph.bytes(format: .binary))
        let type: AnyClass = try #require(NSClassFromString(name))
        for isSecure in [true, false] {
            let error = #expect(throws: ArchiveError.self) {
                try NSCodingUnarchiver.unarchivedObject(
                    ofClasses: [type], from: data, requiringSecureCoding: isSecure)
            }
            #expect(error?.code == .unsupported)
            #expect(error?.message == "\(name) of Foundation cannot be made from an archive")
        }
    }

    @Test("A credential needs its user, its password and a known persistence")
    func credential() throws {
        let sample = try #require(try ClassSamples.all().first { $0.type == "FoundationNetworking.URLCredential" })
        let whole = try #require(try Self.open(sample) as? URLCredential)
        #expect((whole.user, whole.password, whole.persistence) == ("u", "p", .forSession))
        for key in sample.keys {
            var graph = sample.graph
            try graph.setValue(.integer(4), forKey: key, of: sample.index)
            #expect(throws: ArchiveError.self, "\(key)") {
                try Self.open(ClassSample(type: sample.type, graph: graph, index: sample.index))
            }
        }
    }

    @Test("The header fields of a response come back, with and without secure coding")
    func response() throws {
        let sample = try #require(try ClassSamples.all().first { $0.type == "FoundationNetworking.HTTPURLResponse" })
        let response = try #require(try Self.open(sample) as? HTTPURLResponse)
        #expect(response.statusCode == 200)
        #expect(response.value(forHTTPHeaderField: "Content-Length") == "3")
        var graph = sample.graph
        graph.setRoots(ArchivedRecord(typeName: "", storedKeys: ["root"], values: [.reference(sample.index)]))
        let data = Data(try graph.bytes(format: .binary))
        let secure = try NSCodingUnarchiver.unarchivedObject(ofClass: HTTPURLResponse.self, from: data)
        #expect(secure?.value(forHTTPHeaderField: "Content-Length") == "3")
    }

    @Test("Foundation's own code asks for no key that the table does not name")
    func keysInClassTable() throws {
        let samples = try ClassSamples.all()
        let classes = try DeclaredClasses.coding()
        var seen = 0
        for (name, needs) in FoundationNeeds.table {
            guard !Self.hasOtherForms.contains(name), let type = classes[name] as? any NSCoding.Type else { continue }
            for sample in samples where sample.type == name {
                // The values of the object are those at the top of an archive.
                var graph = sample.graph
                if let record = graph.objects[sample.index].record { graph.setRoots(record) }
                let unarchiver = try NSCodingUnarchiver(forReadingFrom: Data(graph.bytes(format: .binary)))
                unarchiver.requiresSecureCoding = false
                let coder = AskedKeys(unarchiver)
                #expect(type.init(coder: coder) != nil, "\(name)")
                #expect(coder.keys.subtracting(needs.values.map(\.key)) == [], "\(name)")
                seen += 1
            }
        }
        #expect(seen >= 40)
    }

    /// Collections, strings and the like, some of whose keys are hidden from Foundation, and which have keys by number.
    private static let hasOtherForms: Set<String> = Set(
        [
            "NSString", "NSMutableString", "NSData", "NSMutableData", "NSNumber", "NSArray", "NSMutableArray", "NSSet",
            "NSMutableSet", "NSCountedSet", "NSOrderedSet", "NSMutableOrderedSet", "NSDictionary",
            "NSMutableDictionary",
        ].map { "Foundation.\($0)" })
}

/// Notes which keys a class asks for.
private final class AskedKeys: NSCoder {
    private let coder: NSCodingUnarchiver
    private(set) var keys: Set<String> = []

    init(_ coder: NSCodingUnarchiver) { self.coder = coder }

    private func asked(_ key: String) -> NSCodingUnarchiver {
        keys.insert(key)
        return coder
    }

    override var allowsKeyedCoding: Bool { true }
    override func containsValue(forKey key: String) -> Bool { asked(key).containsValue(forKey: key) }
    override func decodeObject(forKey key: String) -> Any? { asked(key).decodeObject(forKey: key) }
    override func decodeObject<T: NSCoding>(of type: T.Type, forKey key: String) -> T? where T: NSObject {
        asked(key).decodeObject(of: type, forKey: key)
    }
    override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
        asked(key).decodeObject(of: classes, forKey: key)
    }
    override func decodeBool(forKey key: String) -> Bool { asked(key).decodeBool(forKey: key) }
    override func decodeInteger(forKey key: String) -> Int { asked(key).decodeInteger(forKey: key) }
    override func decodeInt32(forKey key: String) -> Int32 { asked(key).decodeInt32(forKey: key) }
    override func decodeInt64(forKey key: String) -> Int64 { asked(key).decodeInt64(forKey: key) }
    override func decodeDouble(forKey key: String) -> Double { asked(key).decodeDouble(forKey: key) }
    override func withDecodedUnsafeBufferPointer<Result>(
        forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result { try asked(key).withDecodedUnsafeBufferPointer(forKey: key, body: body) }
}
