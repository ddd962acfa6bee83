import Testing

@testable import DistantObjects

@Suite("Codes of errors on the wire")
struct ErrorNumberTests {
    @Test("A code has the number that the wire protocol lists, and prints its name")
    func numbersInErrorNumber() {
        let listed: [(ConnectionError.Code, Int, String)] = [
            (.notSent, 1, "notSent"), (.noSuchMessage, 4, "noSuchMessage"), (.closed, 11, "closed"),
            (.noSuchRoot, 12, "noSuchRoot"), (.oneWayLost, 21, "oneWayLost"),
        ]
        for (code, number, name) in listed {
            #expect(code.number == number && ConnectionError.Code(number: number) == code)
            #expect("\(code)" == name && code.rawValue == name)
        }
    }

    @Test("A number of a later version is kept", arguments: [22, 1000, Int.max])
    func later(number: Int) {
        #expect(ConnectionError.Code(number: number).number == number)
    }

    @Test("A number that is none, and a name without number, are 0", arguments: [0, -1, Int.min])
    func noneInErrorNumber(number: Int) {
        #expect(ConnectionError.Code(number: number).number == 0)
        #expect(ConnectionError.Code(rawValue: "mine").number == 0)
    }
}
