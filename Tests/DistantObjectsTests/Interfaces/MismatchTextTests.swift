import TestSupport
import Testing

@testable import DistantObjects

private struct Plug: Interface {
    let name = Signature<String>("name")
    let info = Signature<PlugInfo, String>("info")
    let run = Signature<Void, String, Int>("run")
    let load = Signature<Remote<Plug>?, [String], Int>("load", olderTypeNames: ["PlugInfo": "Info"])
    let late = Signature<Int>("late", since: 2)
}

private struct PlugInfo: Codable {}

/// The text of what a class lacks, for each message that it lists.
private func problems(_ messages: (String, [TypeDescription], TypeDescription)...) -> String {
    let description = ClassDescription("Host", messages.map { MessageDescription($0.0, $0.1, $0.2) })
    let described = DescribedClass(definition: description.definition ?? [])
    return described.problems(with: InterfaceShape.of(Plug.self)).joined(separator: "; ")
}

@Suite("The text of an interface that does not fit", .bounded())
struct MismatchTextTests {
    private let string = TypeDescription.of(String.self)
    private let int = TypeDescription.of(Int.self)

    @Test("It has only the parts that differ, with what they are on both sides")
    func differingParts() {
        let text = problems(
            ("name", [], string), ("info", [string], TypeDescription(.value, "Info")),
            ("run", [string, string], .nothing),
            ("load", [TypeDescription.of([String].self), string], TypeDescription(.reference, "Plug")))
        #expect(
            text == """
                info: result PlugInfo is Info there; run: argument 2 Int is String there; load: argument 2 Int is String \
                there, result Remote<Plug>? is Remote<Plug> there
                """)
    }

    @Test("Another number of arguments is told by both lists, a missing message as it is written")
    func differingCounts() {
        let text = problems(("name", [int], string), ("info", [], int), ("run", [string, int], int))
        #expect(
            text == """
                name: the arguments () are (Int) there; info: the arguments (String) are () there, result PlugInfo is Int \
                there; run: result Void is Int there; load(Array<String>, Int) -> Remote<Plug>? is missing
                """)
    }

    @Test("The error names the interface and the class once")
    func namedOnce() {
        let error = InterfaceShape.of(Plug.self).mismatch(["late: result Int is Void there"], "Host")
        #expect("\(error)" == "Host does not answer what Plug asks: late: result Int is Void there")
        #expect(error.code == .interfaceMismatch)
    }
}
