import DistantObjects
import Synchronization
import TestSupport
import Testing

/// A class whose methods run on the main actor.
@MainActor
private final class Account: Vendable {
    private var balance = 0

    nonisolated init() {}

    // The protocol says that it is not isolated.
    static var messages: MessageTable<Account> {
        Message("deposit", Account.deposit)
        Message("rename", Account.rename)
        Message("fail", Account.fail)
        Message("slowly") { (account: Account) in { (amount: Int) async -> Int in await account.deposit(amount) } }
    }

    func deposit(_ amount: Int) -> Int {
        MainActor.preconditionIsolated()
        balance += amount
        return balance
    }

    func rename(_ foo: Foo, _ age: Int) {
        MainActor.preconditionIsolated()
        balance = age + foo.age
    }

    func fail() throws -> Int {
        MainActor.preconditionIsolated()
        throw Refused()
    }

    struct Refused: Error, Codable {}
}

@Suite("Messages of a class on the main actor", .bounded())
struct MainActorMessageTests {
    @Test("Its synchronous methods run on the main actor, with and without results, and throwing")
    func isolation() async throws {
        let pair = try await Pair()
        pair.server.vend(Account(), as: "account")
        let account = try await pair.client.root(named: "account")
        let one: Int = try await account.deposit(2)
        try await account.rename(Foo(name: "a", age: 9), 4)
        let sum: Int = try await account.deposit(1)
        let slowly: Int = try await account.slowly(1)
        #expect(one == 2 && sum == 14 && slowly == 15)
        await #expect(throws: RemoteError.self) { let _: Int = try await account.fail() }
        await pair.close()
    }
}
