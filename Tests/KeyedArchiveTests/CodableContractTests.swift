import Foundation
import Testing

@testable import KeyedArchive

@Suite("What Codable types can rely on")
struct CodableContractTests {
    @Test("Every coder shows types the same, or the documentation says why not", arguments: CodableBehaviour.all)
    func behaviour(_ behaviour: CodableBehaviour) {
        for door in CodableDoor.allCases where !behaviour.traps.contains(door) {
            #expect(behaviour.observe(door) == behaviour.expectation(door), "\(door)")
        }
    }
}
