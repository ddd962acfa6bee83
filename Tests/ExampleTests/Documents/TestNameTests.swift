import Foundation
import Testing

@Suite("The names of tests")
struct TestNameTests {
    @Test("Each test function has a name of its own, so that a filter finds one")
    func uniqueNames() throws {
        var places: [String: [String]] = [:]
        for file in DocumentedCode.files(under: "Tests") where file.hasSuffix(".swift") && !file.contains("/.build/") {
            let text = try DocumentedCode.text(of: file)
            for test in text.components(separatedBy: "@Test(").dropFirst() {
                guard let match = test.firstMatch(of: #/\bfunc (?<name>\w+)/#) else { continue }
                places[String(match.name), default: []].append(file)
            }
        }
        #expect(places.count > 1_000)
        for (name, files) in places where files.count > 1 {
            Issue.record("\(name) in \(files.joined(separator: ", "))")
        }
    }
}
