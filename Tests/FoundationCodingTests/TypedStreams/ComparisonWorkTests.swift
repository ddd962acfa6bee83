import ArchiveFixtures
import Foundation
import FoundationCoding
import KeyedArchive
import Testing

/// Small archives of objects that are shared at each level, which Foundation compares for each occurrence.
@Suite("What an archive may make Foundation compare and hash")
struct ComparisonWorkTests {
    private typealias Bytes = TypedStreamBytes

    // MARK: Typedstreams

    private static func again(_ sample: inout TypedStreamSample, _ label: Int) {
        sample.group("@")
        sample.reference(label)
    }

    /// Arrays inside one another, each twice in the next.
    private static func arrays(_ levels: Int, _ sample: inout TypedStreamSample) {
        sample.array(levels == 0 ? 1 : 2) {
            guard levels > 0 else { return _ = $0.string("a") }
            let label = $0.labels
            arrays(levels - 1, &$0)
            again(&$0, label)
        }
    }

    private static func sets(_ levels: Int, _ sample: inout TypedStreamSample) {
        sample.group("@")
        sample.object([("NSSet", 0), ("NSObject", 0)]) {
            $0.group("I", Bytes.number(levels == 0 ? 1 : 2))
            if levels > 0 { sets(levels - 1, &$0) }
            $0.string("q")
        }
    }

    /// A text with two runs, whose attributes are equal but not the same.
    private static func text(_ levels: Int) -> Data {
        TypedStreamSample.data {
            $0.group("@")
            $0.object([("NSAttributedString", 0), ("NSObject", 0)]) {
                $0.string("abcd")
                for number in 1...2 {
                    $0.group("iI", Bytes.number(number) + Bytes.number(2))
                    $0.dictionary(1) {
                        $0.string("key")
                        arrays(levels, &$0)
                    }
                }
            }
        }
    }

    private static func error(_ data: Data, _ classes: [AnyClass]?) -> ArchiveError? {
        do {
            _ = try NSCodingTypedStreamUnarchiver.unarchivedObject(ofClasses: classes, from: data)
            return nil
        } catch {
            return error as? ArchiveError
        }
    }

    @Test("Attributes and sets of a typedstream are refused by what they unfold to, with their path")
    func typedStreams() throws {
        #expect(Self.error(Self.text(4), [NSAttributedString.self]) == nil)
        let attributes = try #require(Self.error(Self.text(14), [NSAttributedString.self]))
        #expect(attributes.code == .limit && attributes.description.hasPrefix("$0.$4: attributes"), "\(attributes)")
        let few = TypedStreamSample.data { Self.sets(2, &$0) }
        #expect(Self.error(few, [NSSet.self]) == nil)
        let many = TypedStreamSample.data { Self.sets(7, &$0) }
        let sets = try #require(Self.error(many, [NSSet.self]))
        #expect(sets.code == .limit && sets.description.contains("a key of more than"), "\(sets)")
        let key = TypedStreamSample.data { sample in
            sample.dictionary(1) {
                Self.arrays(14, &$0)
                $0.string("value")
            }
        }
        #expect(Self.error(key, [])?.code == .limit)
    }

    @Test("Many small attributes are refused by what they take together, and a long text with few is not")
    func togetherInComparisonWork() throws {
        func text(_ runs: Int, _ levels: Int) -> Data {
            TypedStreamSample.data {
                $0.group("@")
                $0.object([("NSAttributedString", 0), ("NSObject", 0)]) {
                    $0.string(String(repeating: "a", count: runs))
                    for number in 0..<runs {
                        $0.group("iI", Bytes.number(number % 2 + 1) + Bytes.number(1))
                        guard number < 2 else { continue }
                        $0.dictionary(1) {
                            $0.string("key \(number)")
                            Self.arrays(levels, &$0)
                        }
                    }
                }
            }
        }
        #expect(Self.error(text(10_000, 2), [NSAttributedString.self]) == nil)
        #expect(Self.error(text(10_000, 9), [NSAttributedString.self])?.code == .limit)
    }

    // MARK: Archives with keys

    /// A keyed archive in XML; references to its objects are written `@1`.
    private static func keyed(_ objects: [String]) -> Data {
        let all = ["<string>$null</string>"] + objects
        let text = all.joined(separator: "\n").replacing(/@(\d+)/) {
            "<dict><key>CF$UID</key><integer>\($0.1)</integer></dict>"
        }
        return Data(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict><key>$archiver</key><string>NSKeyedArchiver</string>
            <key>$version</key><integer>100000</integer>
            <key>$top</key><dict><key>root</key><dict><key>CF$UID</key><integer>1</integer></dict></dict>
            <key>$objects</key><array>\(text)</array></dict></plist>
            """.utf8)
    }

    private static func type(_ name: String) -> String {
        "<dict><key>$classname</key><string>\(name)</string><key>$classes</key><array><string>\(name)</string></array></dict>"
    }

    private static func list(_ elements: String, _ type: Int) -> String {
        "<dict><key>$class</key>@\(type)<key>NS.objects</key><array>\(elements)</array></dict>"
    }

    private static func map(_ keys: String, _ values: String, _ type: Int) -> String {
        "<dict><key>$class</key>@\(type)<key>NS.keys</key><array>\(keys)</array>"
            + "<key>NS.objects</key><array>\(values)</array></dict>"
    }

    private static func keyedText(_ levels: Int) -> Data {
        var objects = [
            "<dict><key>$class</key>@2<key>NSString</key>@3<key>NSAttributes</key>@4<key>NSAttributeInfo</key>@5</dict>",
            type("NSAttributedString"), "<string>abcd</string>", list("@8@9", 6), "<data>AgACAQ==</data>",
            type("NSArray"), type("NSDictionary"),
        ]
        let first = 10
        objects += (0...1).map { map("@3", "@\(first + $0 * (levels + 1))", 7) }
        for start in [first, first + levels + 1] {
            for level in 1...levels { objects.append(list("@\(start + level)@\(start + level)", 6)) }
            objects.append(list("@3", 6))
        }
        return keyed(objects)
    }

    private static func keyedSets(_ levels: Int) -> Data {
        keyed(
            [list("@4", 2), type("NSSet"), "<string>q</string>"]
                + (1...levels).map { list($0 == levels ? "@3" : "@\($0 + 4)@3", 2) })
    }

    private static func keyedError(_ data: Data, _ classes: [AnyClass]) -> ArchiveError? {
        do {
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
            _ = unarchiver.decodeObject(of: classes, forKey: "root")
            return unarchiver.error as? ArchiveError
        } catch {
            return error as? ArchiveError
        }
    }

    @Test("Attributes and sets of a keyed archive are refused by what they unfold to, with their path")
    func keyedArchives() throws {
        let text: [AnyClass] = [NSAttributedString.self, NSDictionary.self, NSArray.self]
        #expect(Self.keyedError(Self.keyedText(4), text) == nil)
        let attributes = try #require(Self.keyedError(Self.keyedText(14), text))
        #expect(attributes.code == .limit && attributes.description.hasPrefix("root: attributes"), "\(attributes)")
        #expect(Self.keyedError(Self.keyedSets(2), [NSSet.self, NSString.self]) == nil)
        let sets = try #require(Self.keyedError(Self.keyedSets(7), [NSSet.self, NSString.self]))
        #expect(sets.code == .limit && sets.description.contains("a key of more than"), "\(sets)")
    }
}
