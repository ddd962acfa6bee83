// swift-format-ignore-file
// It is laid out as FoundationCoding.md shows it.

#if canImport(FoundationCoding)
    import Foundation
    import FoundationCoding

    /// The code of FoundationCoding.md.
    enum FoundationCodingCode {
        final class Foo: NSObject, NSSecureCoding {
            static var supportsSecureCoding: Bool { true }
            let name: String
            init(name: String) { self.name = name }
            init?(coder: NSCoder) {
                guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
                self.name = name as String
            }
            func encode(with coder: NSCoder) { coder.encode(name as NSString, forKey: "name") }
        }

        static func archive(_ foo: Foo, _ bar: Foo) throws -> Data {
            // FoundationCoding.md: writing
            let data = try NSCodingArchiver.archivedData(withRoots: ["myfoo": foo, "mybar": bar])
            // end
            return data
        }

        static func unarchive(_ data: Data) throws -> Foo? {
            // FoundationCoding.md: reading
            let unarchiver = try NSCodingUnarchiver(forReadingFrom: data)
            let foo = unarchiver.decodeObject(of: Foo.self, forKey: "myfoo")
            if let error = unarchiver.error { throw error }
            // end
            return foo
        }
    }
#endif
