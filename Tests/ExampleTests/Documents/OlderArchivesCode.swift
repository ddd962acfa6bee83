// swift-format-ignore-file
// It is laid out as OlderArchives.md shows it.

#if canImport(FoundationCoding)
    import Foundation
    import FoundationCoding
    import KeyedArchive
    import Testing

    @Suite("The code of OlderArchives.md")
    struct OlderArchivesCode {
        // OlderArchives.md: bodies
        /// The first object that groups refer to.
        func object(in groups: TypedStreamGroups, of graph: TypedStreamGraph) -> TypedStreamObject? {
            for group in groups {
                for case .label(let label) in group.values {
                    if case .object(let object) = graph.labels[label] { return object }
                }
            }
            return nil
        }

        func text(ofBody body: Data) throws -> String? {
            let graph = try TypedStreamGraph(body)
            guard let root = object(in: graph.groups, of: graph), let string = object(in: root.groups, of: graph) else { return nil }
            for group in string.groups {
                for case .text(let text) in group.values { return text.description }
            }
            return nil
        }
        // end

        @Test("The text of a body is found, however long it is", arguments: ["", "a", "Grüße 👋", String(repeating: "long ", count: 1_000)])
        func texts(text: String) throws {
            let body = try NSCodingTypedStreamArchiver.archivedData(withRootObject: NSAttributedString(string: text))
            #expect(try self.text(ofBody: body) == text)
        }
    }
#endif
